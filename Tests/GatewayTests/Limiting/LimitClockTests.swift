import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Limits and clock jumps") struct LimitClockTests {
    @Test("After a clock jump a limit admits at most the burst and blocks for at most one period")
    func jumps() {
        var random = SplitMix(seed: 61)
        for _ in 0..<60 {
            let clock = ManualClock(monotonic: .seconds(1_000_000))
            let period = Int.random(in: 1...3600, using: &random)
            let burst = Int.random(in: 1...20, using: &random)
            let count = Int.random(in: 1...40, using: &random)
            let limit = Limit(
                name: "x", per: [.user], count: count, period: .seconds(period), burst: burst)
            let limiter = Limiter([limit], clocks: clock.clocks, capacity: 300)
            let caller = Identity.test(.numbered(1))
            for _ in 0..<40 {
                let jump = [0, 1, period, -1, -period, 100 * period, -90 * period].randomElement(using: &random)!
                clock.advance(by: .seconds(jump))
                clock.setWall(WallTime(seconds: Int64.random(in: 0...4_000_000_000, using: &random)))
                var admitted = 0
                while limiter.admits(caller) { admitted += 1 }
                #expect(admitted <= burst)
                let wait = limiter.refusing(caller)?.seconds ?? 0
                #expect((1...period).contains(wait))
                // The reported wait is correct after every clock jump.
                clock.advance(by: .seconds(wait))
                #expect(limiter.admits(caller))
            }
        }
    }

    @Test("The wall clock does not affect limits")
    func wallClock() {
        let clock = ManualClock()
        let limiter = Limiter([Limit(name: "x", per: [.user], count: 1, period: .seconds(60))], clocks: clock.clocks)
        #expect(limiter.admits(.test(.numbered(1))))
        for seconds in [0, 1_000_000_000, 4_000_000_000] as [Int64] {
            clock.setWall(WallTime(seconds: seconds))
            #expect(limiter.refusing(.test(.numbered(1)))?.seconds == 60)
        }
    }
}
