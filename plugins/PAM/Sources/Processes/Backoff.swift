/// The delay before a new worker is started, after consecutive failures.
struct Backoff: Sendable, Hashable {
    /// The delay after the second consecutive failure; it doubles with each further one. The first failure causes no
    /// delay.
    var first: Duration = .milliseconds(50)
    /// The greatest delay.
    var longest: Duration = .seconds(2)
    private(set) var failures = 0

    /// The delay that applies now.
    var delay: Duration {
        guard failures > 1 else { return .zero }
        return min(first * (1 << min(failures - 2, 16)), longest)
    }

    mutating func failed() { failures = min(failures + 1, 64) }
    mutating func succeeded() { failures = 0 }
}
