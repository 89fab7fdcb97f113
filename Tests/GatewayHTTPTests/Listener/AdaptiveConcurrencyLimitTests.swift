import NIOCore
import Testing

@testable import GatewayHTTP

@Suite("Adaptive concurrency limit") final class AdaptiveConcurrencyLimitTests {
    private let tick = EventLoopTick()
    private var window: AdaptiveConcurrencyLimit
    private var now = NIODeadline.uptimeNanoseconds(0)

    init() {
        window = AdaptiveConcurrencyLimit(tick: tick)
        pass(wait: .zero, work: .zero, ended: 0, isWanted: false)
    }

    /// Completes a tick and returns the new limit.
    @discardableResult
    private func pass(wait: TimeAmount, work: TimeAmount, ended: Int, isWanted: Bool = true, most: Int = 2048) -> Int {
        now = now + wait + work
        tick.complete(at: now, tasksBegan: now - work)
        for _ in 0..<ended { window.recordCompletion() }
        _ = window.isOpen(inFlight: 0, isWanted: isWanted, maximum: most)
        return window.size
    }

    private func fits(_ calls: Int) -> Bool { window.isOpen(inFlight: calls - 1, isWanted: false, maximum: 2048) }

    @Test("The limit decreases if many calls make ticks long") func theLimitDecreasesIfManyCallsMakeTicksLong() {
        #expect(window.size == AdaptiveConcurrencyLimit.initial)
        #expect(pass(wait: .zero, work: .milliseconds(5), ended: 40) == 56)
        for _ in 0..<100 { pass(wait: .zero, work: .milliseconds(5), ended: 40) }
        #expect(window.size == AdaptiveConcurrencyLimit.minimum)
        #expect(fits(AdaptiveConcurrencyLimit.minimum))
        #expect(!fits(AdaptiveConcurrencyLimit.minimum + 1))
    }

    /// A batch of the journal resumes many calls in one tick, followed by ticks with almost no work.
    @Test("A long tick affects the following ones") func aLongTickAffectsTheFollowingOnes() {
        let before = pass(wait: .zero, work: .milliseconds(3), ended: 40)
        for _ in 0..<3 { #expect(pass(wait: .zero, work: .microseconds(100), ended: 0) == before) }
        #expect(pass(wait: .zero, work: .microseconds(100), ended: 0) == before + 1)
    }

    @Test("The limit increases to its maximum on demand while calls wait for the backend")
    func itOpens() {
        #expect(
            pass(wait: .milliseconds(1), work: .microseconds(10), ended: 0, isWanted: false)
                == AdaptiveConcurrencyLimit.initial)
        for _ in 0..<300 { pass(wait: .milliseconds(1), work: .microseconds(10), ended: 1) }
        #expect(window.size == 2048)
        #expect(fits(2048) && !fits(2049))
        // Also from the minimum.
        while window.size > AdaptiveConcurrencyLimit.minimum { pass(wait: .zero, work: .milliseconds(5), ended: 40) }
        for _ in 0..<10 { pass(wait: .milliseconds(1), work: .microseconds(10), ended: 0) }
        #expect(pass(wait: .milliseconds(1), work: .microseconds(10), ended: 0) > AdaptiveConcurrencyLimit.minimum)
    }

    /// Hundreds of TLS handshakes, or a suspended machine: such a tick would be as long with fewer calls.
    @Test("Ticks that are long for other reasons do not decrease the limit")
    func ticksThatAreLongForOtherReasonsDoNotDecreaseTheLimit() {
        for _ in 0..<300 { pass(wait: .zero, work: .milliseconds(20), ended: AdaptiveConcurrencyLimit.minimum - 1) }
        #expect(window.size == 2048)
    }

    /// A slow disk: no event for 20 ms, then all calls of a batch.
    @Test("Bursts with pauses between them do not decrease the limit")
    func burstsWithPausesBetweenThemDoNotDecreaseTheLimit() {
        for _ in 0..<100 { pass(wait: .milliseconds(20), work: .milliseconds(12), ended: 200) }
        #expect(window.size > 1000)
    }

    @Test("Socket events count as work") func socketEventsCountAsWork() {
        // The event came before the tasks of the tick began. The clock determines how long before.
        tick.recordWork()
        let began = NIODeadline.now()
        tick.complete(at: began + .milliseconds(8), tasksBegan: began + .milliseconds(6))
        #expect(tick.last.work >= .milliseconds(8))
        tick.complete(at: began + .milliseconds(10), tasksBegan: began + .milliseconds(9))
        #expect(tick.last == EventLoopTick.Times(wait: .milliseconds(1), work: .milliseconds(1)))
    }
}
