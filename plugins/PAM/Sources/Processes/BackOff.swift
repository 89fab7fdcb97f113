/// How long to wait before the next worker after workers that failed one after the other.
struct BackOff: Sendable, Hashable {
    /// After the second failure in a row; doubled with each one more. The first costs nothing.
    var first: Duration = .milliseconds(50)
    /// The longest wait.
    var longest: Duration = .seconds(2)
    private(set) var failures = 0

    /// The wait that is due now.
    var delay: Duration {
        guard failures > 1 else { return .zero }
        return min(first * (1 << min(failures - 2, 16)), longest)
    }

    mutating func failed() { failures = min(failures + 1, 64) }
    mutating func succeeded() { failures = 0 }
}
