import Gateway
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

@Suite("Calls that wait for a place") final class AdmissionQueueTests {
    /// Calls by number, and what became of them.
    private final class Record {
        var events: [String] = []
        var gone: Set<Int> = []
    }

    private let loop = EmbeddedEventLoop()
    private let places = InFlightLimit(most: 2)
    private let record = Record()
    private let waiting: AdmissionQueue

    init() { waiting = AdmissionQueue(for: places, on: loop, tick: nil) }

    deinit { loop.end() }

    private func arrive(_ number: Int) {
        if waiting.admit() { return record.events.append("\(number) begins") }
        waiting.enqueue(
            AdmissionQueue.Call(
                isAwaited: { [record] in !record.gone.contains(number) },
                begin: { [record] in record.events.append("\(number) begins") },
                reject: { [record] in record.events.append("\(number) refused") }))
    }

    private func end() {
        waiting.leave()
        waiting.beginNext()
    }

    private func taken() -> [String] {
        defer { record.events = [] }
        return record.events
    }

    @Test func placesGoToThoseThatWaitInTurn() {
        for number in 1...5 { arrive(number) }
        #expect(taken() == ["1 begins", "2 begins"])
        end()
        #expect(taken() == ["3 begins"])
        // Who comes now does not overtake.
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

    @Test func newcomersAreTurnedAwayWhereTheFirstHasWaitedForLong() {
        for number in 1...4 { arrive(number) }
        loop.advanceTime(by: .milliseconds(499))
        arrive(5)
        #expect(taken() == ["1 begins", "2 begins"])
        loop.advanceTime(by: .milliseconds(1))
        arrive(6)
        #expect(taken() == ["6 refused"])
        // The next of those that wait has waited for as long, the one after it has not.
        end()
        arrive(7)
        end()
        arrive(8)
        #expect(taken() == ["3 begins", "7 refused", "4 begins"])
        end()
        end()
        #expect(taken() == ["5 begins", "8 begins"])
    }

    /// Under full load refusals would else take the time in which calls are served.
    @Test func noMoreAreTurnedAwayThanTakeLittleTime() {
        for number in 1...3 { arrive(number) }
        loop.advanceTime(by: .milliseconds(500))
        for number in 0..<2 * AdmissionQueue.turnedAwayAtOnce { arrive(10 + number) }
        #expect(taken().count { $0.hasSuffix("refused") } == AdmissionQueue.turnedAwayAtOnce)
        #expect(waiting.count == 1 + AdmissionQueue.turnedAwayAtOnce)
        loop.advanceTime(by: .milliseconds(50))
        arrive(4)
        #expect(taken() == ["4 refused"])
    }

    /// Calls that wait for a moment, again and again, do not make the looks at the queue more frequent.
    @Test func theQueueIsLookedAtOnceInFiftyMilliseconds() {
        arrive(0)
        arrive(1)
        for number in 2...6 {
            arrive(number)
            end()
            loop.advanceTime(by: .milliseconds(7))
        }
        // The first look is due in 15 ms; every 50 ms after it there is another.
        for number in 7...8 { arrive(number) }
        loop.advanceTime(by: .milliseconds(515))
        _ = taken()
        var refused: [Int] = []
        for round in 0..<10 {
            for number in 0..<2 * AdmissionQueue.turnedAwayAtOnce { arrive(1000 * (round + 1) + number) }
            refused.append(taken().count { $0.hasSuffix("refused") })
            loop.advanceTime(by: .milliseconds(5))
        }
        #expect(refused == [AdmissionQueue.turnedAwayAtOnce] + Array(repeating: 0, count: 9))
    }

    /// A connection's next request may come within the look that begins the one before.
    @Test func whatComesWithinALookBeginsNoOther() {
        arrive(0)
        arrive(1)
        var looks = 0
        waiting.enqueue(
            AdmissionQueue.Call(
                isAwaited: { true },
                begin: { [waiting] in
                    waiting.enqueue(
                        AdmissionQueue.Call(
                            isAwaited: {
                                looks += 1
                                return true
                            }, begin: {}, reject: {}))
                }, reject: {}))
        places.leave()
        loop.advanceTime(by: .milliseconds(50))
        looks = 0
        for _ in 0..<5 { loop.advanceTime(by: .milliseconds(50)) }
        #expect(looks == 5)
    }

    @Test func nobodyWaitsForLongerThanASecondAndNobodyAtAllWhereThatWasInVain() {
        for number in 1...4 { arrive(number) }
        loop.advanceTime(by: .milliseconds(999))
        #expect(taken() == ["1 begins", "2 begins"])
        loop.advanceTime(by: .milliseconds(51))
        #expect(taken() == ["3 refused", "4 refused"])
        arrive(5)
        #expect(taken() == ["5 refused"])
        // A call ends after all.
        end()
        arrive(6)
        arrive(7)
        #expect(taken() == ["6 begins"])
        #expect(waiting.count == 1)
    }

    @Test func placesThatOtherLoopsLeaveAreFound() {
        #expect(places.admit() && places.admit())
        arrive(1)
        places.leave()
        #expect(taken() == [])
        loop.advanceTime(by: .milliseconds(50))
        #expect(taken() == ["1 begins"])
    }

    @Test func whoseClientHasLeftIsNotBegun() {
        for number in 1...5 { arrive(number) }
        record.gone = [3]
        end()
        #expect(taken() == ["1 begins", "2 begins", "3 refused", "4 begins"])
    }

    @Test func noMoreWaitThanThereIsRoomFor() {
        for number in 0..<2 + AdmissionQueue.most + 1 { arrive(number) }
        #expect(taken() == ["0 begins", "1 begins", "\(2 + AdmissionQueue.most) refused"])
        #expect(waiting.count == AdmissionQueue.most)
    }

    /// Calls that end as soon as they begin: many of them are a loop, and no recursion that would end with the stack.
    @Test func callsThatEndAtOnce() {
        arrive(0)
        arrive(1)
        var begun = 0
        for _ in 0..<AdmissionQueue.most {
            waiting.enqueue(
                AdmissionQueue.Call(
                    isAwaited: { true },
                    begin: { [unowned self] in
                        begun += 1
                        end()
                    }, reject: {}))
        }
        end()
        #expect(begun == AdmissionQueue.most)
        #expect(places.inFlight == 1)
    }

    // MARK: With a window

    @Test("What does not fit in the window waits, and begins when a call has ended or when the window has opened")
    func theWindow() {
        let tick = EventLoopTick()
        let waiting = AdmissionQueue(for: InFlightLimit(most: 200), on: loop, tick: tick)
        var begun = 0
        for _ in 0..<AdaptiveConcurrencyLimit.first {
            let isAdmitted = waiting.admit()
            #expect(isAdmitted)
        }
        for _ in 0..<10 {
            let isAdmitted = waiting.admit()
            #expect(!isAdmitted)
            waiting.enqueue(AdmissionQueue.Call(isAwaited: { true }, begin: { begun += 1 }, reject: { begun = -1 }))
        }
        waiting.leave()
        waiting.beginNext()
        #expect(begun == 1 && waiting.count == 9)
        // The turn goes on: a timer that rings in it changes nothing.
        loop.advanceTime(by: .milliseconds(3))
        #expect(begun == 1)
        // Others end, in which next to nothing was done.
        for turns in 1...4 {
            tick.end(at: loop.now, tasksBegan: loop.now)
            loop.advanceTime(by: .milliseconds(1))
            #expect(begun == 1 + 2 * turns)
        }
        tick.end(at: loop.now, tasksBegan: loop.now)
        loop.advanceTime(by: .milliseconds(1))
        #expect(begun == 10 && waiting.count == 0 && waiting.inFlight == AdaptiveConcurrencyLimit.first + 9)
        loop.advanceTime(by: .seconds(2))
        #expect(begun == 10)
    }

    // MARK: Of a connection

    private static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }

    @Test func aConnectionWaitsWithoutBeingRead() throws {
        let gate = Gate()
        let serving = ClosureResponder { request in
            await gate.pass()
            return Response(status: 200, body: Array(request.path.readableBytesView))
        }
        let connection = try EmbeddedConnection(serving) { $0.calls = InFlightLimit(most: 1) }
        #expect(connection.shared.configuration.calls.admit())
        try connection.send(Self.get("/1") + Self.get("/2"))
        #expect(try connection.answers() == [])
        #expect(connection.shared.waiting.count == 1 && connection.shared.callsInFlight == 0)
        connection.shared.configuration.calls.leave()
        connection.loop.advanceTime(by: .milliseconds(50))
        #expect(connection.shared.callsInFlight == 1)
        // The second begins when the first has ended.
        for _ in 0..<2 {
            gate.open()
            connection.loop.run()
        }
        #expect(try connection.answers() == ["200 /1", "200 /2"])
        #expect(connection.shared.configuration.calls.inFlight == 0)
    }

    @Test("While calls for the backend have every place, what needs none is answered, as far as its own places go")
    func reserve() throws {
        let gate = Gate()
        let serving = ClosureResponder { request in
            if request.path.readableBytes > 4 { await gate.pass() }
            return Response(status: 200, body: Array(request.path.readableBytesView))
        }
        let connection = try EmbeddedConnection(serving) { $0.calls = InFlightLimit(most: 1) }
        let calls = connection.shared.configuration.calls
        #expect(calls.admit())
        for _ in 0..<3 { try connection.send(Self.get("/own")) }
        #expect(try connection.answers() == ["200 /own", "200 /own", "200 /own"])
        // Neither a call for the backend nor, with no place left, another of its own.
        for _ in 0..<calls.reserve { #expect(calls.admitToReserve()) }
        #expect(!calls.admitToReserve() && !calls.admit())
        try connection.send(Self.get("/own"))
        #expect(connection.shared.waiting.count == 1)
        for _ in 0...calls.reserve { calls.leave() }
        connection.loop.advanceTime(by: .milliseconds(50))
        #expect(try connection.answers() == ["200 /own"])
        #expect(calls.inFlight == 0)
    }

    @Test("An overload lasts as long as calls are refused for want of a place, and ends after five seconds without")
    func overload() {
        let calls = InFlightLimit(most: 1)
        func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1) + .seconds(seconds) }
        #expect(calls.overloaded(now: at(0)) == nil)
        for second in stride(from: 10, through: 50, by: 4) { calls.recordRejection(at(Int64(second))) }
        #expect(calls.overloaded(now: at(54)) == .seconds(40))
        #expect(calls.overloaded(now: at(56)) == nil)
        calls.recordRejection(at(60))
        #expect(calls.overloaded(now: at(61)) == .zero)
    }

    @Test func aConnectionThatWaitedInVainIsToldAndStays() throws {
        let connection = try EmbeddedConnection { $0.calls = InFlightLimit(most: 1) }
        #expect(connection.shared.configuration.calls.admit())
        try connection.send(Self.get("/1"))
        connection.loop.advanceTime(by: .milliseconds(1050))
        #expect(try connection.answers() == ["503 overloaded"])
        connection.shared.configuration.calls.leave()
        try connection.send(Self.get("/2"))
        #expect(try connection.answers() == ["200 /2"])
        // What waits when its client leaves is never begun, and holds nothing up.
        #expect(connection.shared.configuration.calls.admit())
        try connection.send(Self.get("/3"))
        connection.channel.close(promise: nil)
        connection.shared.configuration.calls.leave()
        connection.loop.advanceTime(by: .milliseconds(50))
        #expect(connection.shared.waiting.count == 0 && connection.shared.configuration.calls.inFlight == 0)
    }

    @Test func aStreamWaitsAndMayLeave() throws {
        let connection = try EmbeddedHTTP2Connection { $0.calls = InFlightLimit(most: 1) }
        let calls = connection.shared.configuration.calls
        #expect(calls.admit())
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/1")), .headers(3, HTTP2Fixture.get("/3")))
        #expect(try connection.written() == [])
        #expect(connection.shared.waiting.count == 2)
        try connection.send(.reset(1))
        calls.leave()
        connection.loop.advanceTime(by: .milliseconds(50))
        #expect(try connection.written() == ["200 on 3", "/3 on 3"])
        #expect(calls.admit())
        try connection.send(.headers(5, HTTP2Fixture.get("/5")))
        connection.loop.advanceTime(by: .milliseconds(1050))
        #expect(try connection.written() == ["503 on 5", "overloaded on 5"])
        #expect(calls.inFlight == 1)
    }
}
