/// The delay before a new worker is started, after consecutive failures.
package struct Backoff: Sendable, Hashable {
    /// The delay after the second consecutive failure; it doubles with each further one. The first failure causes no
    /// delay.
    package var initialDelay: Duration
    /// The maximum delay.
    package var maximumDelay: Duration
    /// The number of consecutive failures.
    package private(set) var failures = 0

    /// Creates a delay without failures.
    package init(initialDelay: Duration = .milliseconds(50), maximumDelay: Duration = .seconds(2)) {
        self.initialDelay = initialDelay
        self.maximumDelay = maximumDelay
    }

    /// The delay that applies now.
    package var delay: Duration {
        guard failures > 1 else { return .zero }
        return min(initialDelay * (1 << min(failures - 2, 16)), maximumDelay)
    }

    /// Records a failure, which increases the delay.
    package mutating func failed() { failures = min(failures + 1, 64) }
    /// Records a success, which ends the delay.
    package mutating func succeeded() { failures = 0 }
}
