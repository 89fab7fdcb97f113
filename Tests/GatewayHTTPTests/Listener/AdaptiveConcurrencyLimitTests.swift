import NIOCore
import Testing

@testable import GatewayHTTP

@Suite("How many calls a loop has in flight") final class AdaptiveConcurrencyLimitTests {
    private let tick = EventLoopTick()
    private var window: AdaptiveConcurrencyLimit
    private var now = NIODeadline.uptimeNanoseconds(0)

    init() {
        window = AdaptiveConcurrencyLimit(tick: tick)
        pass(wait: .zero, work: .zero, ended: 0, isWanted: false)
    }

    /// A turn passes. Says how many calls then fit in.
    @discardableResult
    private func pass(wait: TimeAmount, work: TimeAmount, ended: Int, isWanted: Bool = true, most: Int = 2048) -> Int {
        now = now + wait + work
        tick.end(at: now, tasksBegan: now - work)
        for _ in 0..<ended { window.callHasEnded() }
        _ = window.isOpen(inFlight: 0, isWanted: isWanted, most: most)
        return window.size
    }

    private func fits(_ calls: Int) -> Bool { window.isOpen(inFlight: calls - 1, isWanted: false, most: 2048) }

    @Test func itClosesWhereManyCallsMakeTurnsLong() {
        #expect(window.size == AdaptiveConcurrencyLimit.first)
        #expect(pass(wait: .zero, work: .milliseconds(5), ended: 40) == 56)
        for _ in 0..<100 { pass(wait: .zero, work: .milliseconds(5), ended: 40) }
        #expect(window.size == AdaptiveConcurrencyLimit.smallest)
        #expect(fits(AdaptiveConcurrencyLimit.smallest))
        #expect(!fits(AdaptiveConcurrencyLimit.smallest + 1))
    }

    /// A batch of the journal has what many calls wait for: a turn in which they move, and a few in which next to nothing does.
    @Test func aLongTurnCountsForThoseThatFollowIt() {
        let before = pass(wait: .zero, work: .milliseconds(3), ended: 40)
        for _ in 0..<3 { #expect(pass(wait: .zero, work: .microseconds(100), ended: 0) == before) }
        #expect(pass(wait: .zero, work: .microseconds(100), ended: 0) == before + 1)
    }

    @Test("Where calls wait for the backend it opens as far as there may be any, and only if it is asked to")
    func itOpens() {
        #expect(
            pass(wait: .milliseconds(1), work: .microseconds(10), ended: 0, isWanted: false)
                == AdaptiveConcurrencyLimit.first)
        for _ in 0..<300 { pass(wait: .milliseconds(1), work: .microseconds(10), ended: 1) }
        #expect(window.size == 2048)
        #expect(fits(2048) && !fits(2049))
        // From its smallest too.
        while window.size > AdaptiveConcurrencyLimit.smallest { pass(wait: .zero, work: .milliseconds(5), ended: 40) }
        for _ in 0..<10 { pass(wait: .milliseconds(1), work: .microseconds(10), ended: 0) }
        #expect(pass(wait: .milliseconds(1), work: .microseconds(10), ended: 0) > AdaptiveConcurrencyLimit.smallest)
    }

    /// Handshakes by the hundred, or a machine that was away: with fewer calls in flight such a turn would be as long.
    @Test func turnsThatAreLongForOtherThingsDoNotHoldItBack() {
        for _ in 0..<300 { pass(wait: .zero, work: .milliseconds(20), ended: AdaptiveConcurrencyLimit.smallest - 1) }
        #expect(window.size == 2048)
    }

    /// A slow disk: nothing for 20 ms, then all calls of a batch at once.
    @Test func burstsWithWaitsBetweenThemDoNotCloseIt() {
        for _ in 0..<100 { pass(wait: .milliseconds(20), work: .milliseconds(12), ended: 200) }
        #expect(window.size > 1000)
    }

    @Test func whatCameFromSocketsIsWork() {
        // Here it came before the turn's tasks began; how long ago that is, the clock says.
        tick.workBegins()
        let began = NIODeadline.now()
        tick.end(at: began + .milliseconds(8), tasksBegan: began + .milliseconds(6))
        #expect(tick.last.work >= .milliseconds(8))
        tick.end(at: began + .milliseconds(10), tasksBegan: began + .milliseconds(9))
        #expect(tick.last == EventLoopTick.Times(wait: .milliseconds(1), work: .milliseconds(1)))
    }
}
