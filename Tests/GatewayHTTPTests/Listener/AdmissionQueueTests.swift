import Gateway
import GatewayCore
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

@Suite("Queue of calls that wait for admission") final class AdmissionQueueTests {
    /// Calls by number, with their results.
    private final class Record {
        var events: [String] = []
        var gone: Set<Int> = []
    }

    private let loop = EmbeddedEventLoop()
    private let places = InFlightLimit(maximum: 2)
    private let record = Record()
    private let waiting: AdmissionQueue

    init() { waiting = AdmissionQueue(for: places, on: loop, tick: nil) }

    deinit { loop.end() }

    static func client(_ name: Int) -> TurnOwner { .network(.v4(UInt32(name))) }

    private func arrive(_ number: Int, of client: Int = 1) {
        if waiting.admit() { return record.events.append("\(number) begins") }
        waiting.enqueue(
            AdmissionQueue.Call(
                owner: Self.client(client), isAwaited: { [record] in !record.gone.contains(number) },
                begin: { [record] in record.events.append("\(number) begins") },
                reject: { [record] in record.events.append("\(number) refused") }))
    }

    private func end() {
        waiting.release()
        waiting.beginNext()
    }

    private func taken() -> [String] {
        defer { record.events = [] }
        return record.events
    }

    @Test("Queued calls are admitted in order") func queuedCallsAreAdmittedInOrder() {
        for number in 1...5 { arrive(number) }
        #expect(taken() == ["1 begins", "2 begins"])
        end()
        #expect(taken() == ["3 begins"])
        // A new call does not overtake.
        end()
        arrive(6)
        #expect(taken() == ["4 begins"])
        end()
        end()
        #expect(taken() == ["5 begins", "6 begins"])
        #expect(waiting.count == 0 && places.inFlight == 2)
        end()
        arrive(7)
        #expect(taken() == ["7 begins"])
    }

    @Test("New calls are rejected while the first has waited too long")
    func newCallsAreRejectedWhileTheFirstHasWaitedTooLong() {
        for number in 1...4 { arrive(number) }
        loop.advanceTime(by: .milliseconds(499))
        arrive(5)
        #expect(taken() == ["1 begins", "2 begins"])
        loop.advanceTime(by: .milliseconds(1))
        arrive(6)
        #expect(taken() == ["6 refused"])
        // The next call in the queue has waited equally long, the one after it has not.
        end()
        arrive(7)
        end()
        arrive(8)
        #expect(taken() == ["3 begins", "7 refused", "4 begins"])
        end()
        end()
        #expect(taken() == ["5 begins", "8 begins"])
    }

    /// Under full load, rejections would otherwise take the time in which calls are served.
    @Test("The number of rejections within an interval is limited")
    func theNumberOfRejectionsWithinAnIntervalIsLimited() {
        for number in 1...3 { arrive(number) }
        loop.advanceTime(by: .milliseconds(500))
        for number in 0..<2 * AdmissionQueue.maximumRejections { arrive(10 + number) }
        #expect(taken().count { $0.hasSuffix("refused") } == AdmissionQueue.maximumRejections)
        #expect(waiting.count == 1 + AdmissionQueue.maximumRejections)
        loop.advanceTime(by: .milliseconds(50))
        arrive(4)
        #expect(taken() == ["4 refused"])
    }

    /// Calls that repeatedly wait for a short time do not make the checks of the queue more frequent.
    @Test("The queue is checked once in fifty milliseconds") func theQueueIsCheckedOnceInFiftyMilliseconds() {
        arrive(0)
        arrive(1)
        for number in 2...6 {
            arrive(number)
            end()
            loop.advanceTime(by: .milliseconds(7))
        }
        // The first check is due in 15 ms, and further ones every 50 ms.
        for number in 7...8 { arrive(number) }
        loop.advanceTime(by: .milliseconds(515))
        _ = taken()
        var refused: [Int] = []
        for round in 0..<10 {
            for number in 0..<2 * AdmissionQueue.maximumRejections { arrive(1000 * (round + 1) + number) }
            refused.append(taken().count { $0.hasSuffix("refused") })
            loop.advanceTime(by: .milliseconds(5))
        }
        #expect(refused == [AdmissionQueue.maximumRejections] + Array(repeating: 0, count: 9))
    }

    /// A connection's next request may arrive within the check that starts the previous one.
    @Test("A call that arrives within a check does not schedule another check")
    func aCallThatArrivesWithinACheckDoesNotScheduleAnotherCheck() {
        arrive(0)
        arrive(1)
        var looks = 0
        waiting.enqueue(
            AdmissionQueue.Call(
                owner: Self.client(1), isAwaited: { true },
                begin: { [waiting] in
                    waiting.enqueue(
                        AdmissionQueue.Call(
                            owner: Self.client(1),
                            isAwaited: {
                                looks += 1
                                return true
                            }, begin: {}, reject: {}))
                }, reject: {}))
        places.release()
        loop.advanceTime(by: .milliseconds(50))
        looks = 0
        for _ in 0..<5 { loop.advanceTime(by: .milliseconds(50)) }
        #expect(looks == 5)
    }

    @Test("A call waits for at most one second and then further calls are rejected at once")
    func aCallWaitsForAtMostOneSecondAndThenFurtherCallsAreRejectedAtOnce() {
        for number in 1...4 { arrive(number) }
        loop.advanceTime(by: .milliseconds(999))
        #expect(taken() == ["1 begins", "2 begins"])
        loop.advanceTime(by: .milliseconds(51))
        #expect(taken() == ["3 refused", "4 refused"])
        arrive(5)
        #expect(taken() == ["5 refused"])
        // A call completes after all.
        end()
        arrive(6)
        arrive(7)
        #expect(taken() == ["6 begins"])
        #expect(waiting.count == 1)
    }

    @Test("Places that other loops release are found") func placesThatOtherLoopsReleaseAreFound() {
        #expect(places.admit() && places.admit())
        arrive(1)
        places.release()
        #expect(taken() == [])
        loop.advanceTime(by: .milliseconds(50))
        #expect(taken() == ["1 begins"])
    }

    @Test("A call whose client has left is not started") func aCallWhoseClientHasLeftIsNotStarted() {
        for number in 1...5 { arrive(number) }
        record.gone = [3]
        end()
        #expect(taken() == ["1 begins", "2 begins", "3 refused", "4 begins"])
    }

    @Test("The length of the queue is limited") func theLengthOfTheQueueIsLimited() {
        for number in 0..<2 + AdmissionQueue.maximumLength + 1 { arrive(number) }
        #expect(taken() == ["0 begins", "1 begins", "\(2 + AdmissionQueue.maximumLength) refused"])
        #expect(waiting.count == AdmissionQueue.maximumLength)
    }

    @Test("Clients take turns, and the calls of each stay in order") func clientsTakeTurns() {
        for number in 1...6 { arrive(number) }
        arrive(21, of: 2)
        arrive(31, of: 3)
        arrive(22, of: 2)
        #expect(taken() == ["1 begins", "2 begins"])
        for _ in 0..<8 { end() }
        #expect(taken() == [3, 21, 31, 4, 22, 5, 6].map { "\($0) begins" })
    }

    @Test("A client whose calls have waited too long gets rejections, and others do not")
    func rejectionsOfOneClient() {
        for number in 1...4 { arrive(number) }
        loop.advanceTime(by: .milliseconds(500))
        arrive(5)
        arrive(21, of: 2)
        #expect(taken() == ["1 begins", "2 begins", "5 refused"])
        loop.advanceTime(by: .milliseconds(499))
        // A call completes, so nothing is stalled when the calls of the first client expire.
        end()
        #expect(taken() == ["3 begins"])
        loop.advanceTime(by: .milliseconds(51))
        #expect(taken() == ["4 refused"])
        arrive(22, of: 2)
        end()
        end()
        #expect(taken() == ["22 refused", "21 begins"])
    }

    @Test("With many clients the longest wait counts for those with the average number of calls or more")
    func rejectionsWithManyClients() {
        for client in 1...20 { arrive(client, of: client) }
        loop.advanceTime(by: .milliseconds(500))
        // One call of its own is the average.
        arrive(21, of: 21)
        #expect(taken() == ["1 begins", "2 begins", "21 refused"])
        // Beside a client with many calls it is less.
        loop.advanceTime(by: .milliseconds(600))
        _ = taken()
        end()
        for _ in 0..<40 { arrive(1, of: 1) }
        loop.advanceTime(by: .milliseconds(550))
        _ = taken()
        arrive(22, of: 22)
        #expect(taken() == [])
        arrive(1, of: 1)
        #expect(taken() == ["1 refused"])
    }

    @Test("A client that fills the queue leaves an equal share to each other one") func sharesOfAFullQueue() {
        for number in 0..<2 + AdmissionQueue.maximumLength { arrive(number) }
        _ = taken()
        var room = AdmissionQueue.maximumLength
        for client in 2...9 {
            for _ in 0..<AdmissionQueue.maximumLength { arrive(client, of: client) }
            let share = min(room, AdmissionQueue.maximumLength / client)
            #expect(taken().count == AdmissionQueue.maximumLength - share)
            room -= share
        }
        #expect(room == 0)
        arrive(0)
        #expect(taken() == ["0 refused"])
    }

    /// Calls that complete as soon as they start must not recurse.
    @Test("Calls that complete at once do not recurse") func callsThatCompleteAtOnceDoNotRecurse() {
        arrive(0)
        arrive(1)
        var begun = 0
        for _ in 0..<AdmissionQueue.maximumLength {
            waiting.enqueue(
                AdmissionQueue.Call(
                    owner: Self.client(1), isAwaited: { true },
                    begin: { [unowned self] in
                        begun += 1
                        end()
                    }, reject: {}))
        }
        end()
        #expect(begun == AdmissionQueue.maximumLength)
        #expect(places.inFlight == 1)
    }

    @Test("A call beyond the adaptive limit waits until a call completes or the limit increases")
    func theWindow() {
        let tick = EventLoopTick()
        let waiting = AdmissionQueue(for: InFlightLimit(maximum: 200), on: loop, tick: tick)
        var begun = 0
        for _ in 0..<AdaptiveConcurrencyLimit.initial {
            let isAdmitted = waiting.admit()
            #expect(isAdmitted)
        }
        for _ in 0..<10 {
            let isAdmitted = waiting.admit()
            #expect(!isAdmitted)
            waiting.enqueue(
                AdmissionQueue.Call(
                    owner: Self.client(1), isAwaited: { true }, begin: { begun += 1 }, reject: { begun = -1 }))
        }
        waiting.release()
        waiting.beginNext()
        #expect(begun == 1 && waiting.count == 9)
        // The tick continues, so a timer within it changes nothing.
        loop.advanceTime(by: .milliseconds(3))
        #expect(begun == 1)
        // Further ticks complete with almost no work.
        for turns in 1...4 {
            tick.complete(at: loop.now, tasksBegan: loop.now)
            loop.advanceTime(by: .milliseconds(1))
            #expect(begun == 1 + 2 * turns)
        }
        tick.complete(at: loop.now, tasksBegan: loop.now)
        loop.advanceTime(by: .milliseconds(1))
        #expect(begun == 10 && waiting.count == 0 && waiting.inFlight == AdaptiveConcurrencyLimit.initial + 9)
        loop.advanceTime(by: .seconds(2))
        #expect(begun == 10)
    }

    @Test("An overload lasts until five seconds pass without a rejection")
    func overload() {
        let calls = InFlightLimit(maximum: 1)
        func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1) + .seconds(seconds) }
        #expect(calls.overloaded(now: at(0)) == nil)
        for second in stride(from: 10, through: 50, by: 4) { calls.recordRejection(at(Int64(second))) }
        #expect(calls.overloaded(now: at(54)) == .seconds(40))
        #expect(calls.overloaded(now: at(56)) == nil)
        calls.recordRejection(at(60))
        #expect(calls.overloaded(now: at(61)) == .zero)
    }
}
