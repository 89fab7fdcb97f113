/// The generic cell rate algorithm in nanoseconds. Its state is one number for each key: the theoretical
/// theoreticalArrival time.
///
/// The debt of a key is the time by which its theoretical arrival time is ahead of the clock; without debt
/// the key has its full burst. The debt is capped at `maximumDebt`, whatever time is stored. A stored time that is
/// further ahead, as after a limit was tightened, must be corrected by the table (`LimitTable.clampDebt`); one call
/// then waits for at most one interval, or for the bursts that a key of several nodes remembers (`shared`).
struct GCRA: Sendable, Hashable {
    /// The nanoseconds between two calls at the steady rate, rounded up so that the rate is never exceeded.
    let interval: Int64
    /// The maximum by which the theoretical arrival time may be ahead of the clock for a call to be admitted.
    let tolerance: Int64
    /// The time after which every key has its full burst again, so that its state can be discarded.
    let maximumDebt: Int64

    init(count: Int, period: Int64, burst: Int) {
        let count = Int64(max(1, count))
        // The bound is beyond any clock reading, and small enough that the sums below do not overflow. The same holds
        // for the tolerance.
        interval = min(max(1, period / count + (period % count == 0 ? 0 : 1)), .max / 8)
        let (tolerance, overflow) = interval.multipliedReportingOverflow(by: Int64(max(1, burst) - 1))
        self.tolerance = overflow ? .max / 4 : min(tolerance, .max / 4)
        maximumDebt = self.tolerance + interval
    }

    private init(_ rate: GCRA, maximumDebt: Int64) {
        interval = rate.interval
        tolerance = rate.tolerance
        self.maximumDebt = maximumDebt
    }

    /// The number of nodes whose bursts a shared key remembers.
    static let sharedBursts: Int64 = 16

    /// The same rate for keys that nodes share. The debt is capped at several bursts, because nodes that each admit a burst
    /// before they learn of each other must pay all of them back.
    var shared: GCRA {
        let (debt, overflow) = maximumDebt.multipliedReportingOverflow(by: Self.sharedBursts)
        let bound = max(maximumDebt, .max / 4)
        return GCRA(self, maximumDebt: overflow ? bound : min(debt, bound))
    }

    /// Returns the time until `cost` calls are admitted at once; 0 for now. More calls than the burst are never
    /// admitted.
    func wait(theoreticalArrival: Int64?, now: Int64, cost: Int = 1) -> Int64 {
        let debt = debt(theoreticalArrival: theoreticalArrival, now: now)
        return max(0, cost == 1 ? debt - tolerance : debt + time(of: cost - 1) - tolerance)
    }

    /// Returns the theoretical arrival time after `cost` calls were admitted now.
    func charged(theoreticalArrival: Int64?, now: Int64, cost: Int = 1) -> Int64 {
        now + debt(theoreticalArrival: theoreticalArrival, now: now) + time(of: cost)
    }

    /// Returns the number of calls that would be admitted at once now.
    func remaining(theoreticalArrival: Int64?, now: Int64) -> Int {
        let debt = debt(theoreticalArrival: theoreticalArrival, now: now)
        return debt > tolerance ? 0 : Int((tolerance - debt) / interval) + 1
    }

    /// Returns the time until the key has its full burst again; at most `maximumDebt`.
    func debt(theoreticalArrival: Int64?, now: Int64) -> Int64 {
        guard let theoreticalArrival, theoreticalArrival > now else { return 0 }
        return min(theoreticalArrival - now, maximumDebt)
    }

    /// Returns the time of `cost` calls at the steady rate.
    func time(of cost: Int) -> Int64 {
        let (time, overflow) = interval.multipliedReportingOverflow(by: Int64(max(0, cost)))
        // Bounded like the tolerance, so that sums with a clock reading do not overflow.
        return overflow ? .max / 4 : min(time, .max / 4)
    }
}
