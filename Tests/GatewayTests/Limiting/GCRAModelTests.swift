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
        var arrival: Int128?

        mutating func admits(at now: Int64) -> Bool {
            let now = Int128(now) * count
            guard (arrival ?? now) - (burst - 1) * period <= now else { return false }
            arrival = max(arrival ?? now, now) + period
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
            var arrival: Int64?
            var now = Int64.random(in: 0...1_000_000_000_000_000, using: &random)
            let usual = Double(period) / Double(count)
            for _ in 0..<10_000 {
                // The steps are bursts, the steady rate, and pauses in which the whole burst returns.
                let step = [0, 0, 0.3, 0.9, 1, 1.1, 3, 50].randomElement(using: &random)! * usual
                now += Int64(step * Double.random(in: 0...2, using: &random))
                let admits = rate.wait(arrival: arrival, now: now) == 0
                if admits { arrival = rate.charged(arrival: arrival, now: now) }
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
            var arrival: Int64?
            var now: Int64 = 0
            for _ in 0..<50 {
                // A monotonic clock never goes back. It may stand still, or jump forward after a suspension of the
                // machine.
                now += [0, 1, period, period * 1000].randomElement(using: &random)!
                var admitted = 0
                while rate.wait(arrival: arrival, now: now) == 0 {
                    arrival = rate.charged(arrival: arrival, now: now)
                    admitted += 1
                }
                #expect(admitted <= burst)
                #expect(rate.wait(arrival: arrival, now: now) <= rate.interval)
            }
        }
    }
}
