import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("GCRA compared with an exact model")
struct GCRAModelTests {
    /// The same algorithm with exact fractions. The theoretical arrival time counts in nanoseconds divided by the
    /// rate's count, so nothing is rounded.
    private struct Model {
        let count: Int128
        let period: Int128
        let burst: Int128
        var theoreticalArrival: Int128?

        mutating func admits(at now: Int64) -> Bool {
            let now = Int128(now) * count
            guard (theoreticalArrival ?? now) - (burst - 1) * period <= now else { return false }
            theoreticalArrival = max(theoreticalArrival ?? now, now) + period
            return true
        }
    }

    @Test("A million random arrivals at a hundred rates get the same decisions from the model")
    func decisions() {
        var random = SplitMix(seed: 31)
        var (admitted, refused) = (0, 0)
        for _ in 0..<100 {
            let count = Int.random(in: 1...2000, using: &random)
            let period = [1, 60, 3600, 86_400].randomElement(using: &random)! * Int64(1_000_000_000)
            let burst = Int.random(in: 1...200, using: &random)
            let rate = GCRA(count: count, period: period, burst: burst)
            var model = Model(count: Int128(count), period: Int128(period), burst: Int128(burst))
            var theoreticalArrival: Int64?
            var now = Int64.random(in: 0...1_000_000_000_000_000, using: &random)
            let usual = Double(period) / Double(count)
            for _ in 0..<10_000 {
                // The steps are bursts, the steady rate, and pauses in which the whole burst returns.
                let step = [0, 0, 0.3, 0.9, 1, 1.1, 3, 50].randomElement(using: &random)! * usual
                now += Int64(step * Double.random(in: 0...2, using: &random))
                let admits = rate.wait(theoreticalArrival: theoreticalArrival, now: now) == 0
                if admits { theoreticalArrival = rate.charged(theoreticalArrival: theoreticalArrival, now: now) }
                let expected = model.admits(at: now)
                if admits != expected { Issue.record("\(count) in \(period), burst \(burst), at \(now)") }
                if admits { admitted += 1 } else { refused += 1 }
            }
        }
        #expect(admitted > 100_000 && refused > 10_000)
    }

    @Test("No wait exceeds one interval, and a clock jump gives at most one burst")
    func jumps() {
        var random = SplitMix(seed: 32)
        for _ in 0..<200 {
            let period = Int64.random(in: 1...3600, using: &random) * 1_000_000_000
            let burst = Int.random(in: 1...50, using: &random)
            let rate = GCRA(count: Int.random(in: 1...100, using: &random), period: period, burst: burst)
            var theoreticalArrival: Int64?
            var now: Int64 = 0
            for _ in 0..<50 {
                // A monotonic clock never goes back. It may stand still, or jump forward after a suspension of the
                // machine.
                now += [0, 1, period, period * 1000].randomElement(using: &random)!
                var admitted = 0
                while rate.wait(theoreticalArrival: theoreticalArrival, now: now) == 0 {
                    theoreticalArrival = rate.charged(theoreticalArrival: theoreticalArrival, now: now)
                    admitted += 1
                }
                #expect(admitted <= burst)
                #expect(rate.wait(theoreticalArrival: theoreticalArrival, now: now) <= rate.interval)
            }
        }
    }
}
