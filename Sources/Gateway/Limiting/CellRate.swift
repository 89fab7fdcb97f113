/// The generic cell rate algorithm in whole nanoseconds: one number a key, the theoretical arrival time.
///
/// A key never owes more than the limit lets it run up, whatever number it has: so a clock that was set back, or a limit that
/// was made narrower since, blocks nobody for longer than one interval beyond what the burst is worth.
struct CellRate: Sendable, Hashable {
    /// Nanoseconds between two calls at the steady rate; rounded up, so that the rate is never exceeded.
    let interval: Int64
    /// How far ahead of the clock the theoretical arrival time may be for a call to be admitted.
    let tolerance: Int64

    init(count: Int, period: Int64, burst: Int) {
        let count = Int64(max(1, count))
        // Far beyond any clock's reading, and far enough from the end for the sums below; so for the tolerance.
        interval = min(max(1, period / count + (period % count == 0 ? 0 : 1)), .max / 8)
        let (tolerance, overflow) = interval.multipliedReportingOverflow(by: Int64(max(1, burst) - 1))
        self.tolerance = overflow ? .max / 4 : min(tolerance, .max / 4)
    }

    /// How long to wait until a call, or so many at once, is admitted: 0 for now. More than the burst never are.
    func wait(arrival: Int64?, now: Int64, cost: Int = 1) -> Int64 {
        let debt = debt(arrival: arrival, now: now)
        return max(0, cost == 1 ? debt - tolerance : debt + time(of: cost - 1) - tolerance)
    }

    /// The theoretical arrival time after a call, or so many at once, was admitted now.
    func charged(arrival: Int64?, now: Int64, cost: Int = 1) -> Int64 {
        now + debt(arrival: arrival, now: now) + time(of: cost)
    }

    /// How many calls at once would be admitted now.
    func left(arrival: Int64?, now: Int64) -> Int {
        let debt = debt(arrival: arrival, now: now)
        return debt > tolerance ? 0 : Int((tolerance - debt) / interval) + 1
    }

    /// After how long a key has all its burst again: no longer than `memory`.
    func debt(arrival: Int64?, now: Int64) -> Int64 {
        guard let arrival, arrival > now else { return 0 }
        return min(arrival - now, memory)
    }

    /// The time of so many calls at the steady rate.
    func time(of cost: Int) -> Int64 {
        let (time, overflow) = interval.multipliedReportingOverflow(by: Int64(max(0, cost)))
        // As for the tolerance: sums with any clock's reading stay in range.
        return overflow ? .max / 4 : min(time, .max / 4)
    }

    /// The time after which a key has all its burst again, so that forgetting it changes nothing.
    var memory: Int64 { tolerance + interval }
}
