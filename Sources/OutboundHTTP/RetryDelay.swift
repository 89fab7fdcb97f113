/// The waits between attempts to deliver a batch: one second, doubled with each failure up to a bound, of which a random
/// half is left out so that several gateways do not return to a receiver together.
package struct RetryDelay: Sendable {
    private let longest: Duration
    private let longestRequested: Duration
    private var failures = 0

    /// The wait after the first failure, before the random part.
    package static let first = Duration.seconds(1)

    /// Creates the waits before the first failure.
    ///
    /// - Parameters:
    ///   - longest: The longest wait that is not the receiver's own.
    ///   - longestRequested: The longest wait that a receiver can ask for.
    package init(longest: Duration = .seconds(300), longestRequested: Duration = .seconds(3600)) {
        self.longest = longest
        self.longestRequested = longestRequested
    }

    /// Returns the wait after a failure.
    ///
    /// - Parameters:
    ///   - requested: The wait that the receiver asks for.
    ///   - jitter: A random number from 0 to 1.
    package mutating func next(after requested: Duration?, jitter: Double) -> Duration {
        let full = min(Self.first * (1 << min(failures, 16)), longest)
        failures += 1
        let wait = full / 2 + full * (jitter / 2)
        return max(wait, min(requested ?? .zero, longestRequested))
    }

    /// Starts again with the first wait, after a success.
    package mutating func reset() { failures = 0 }
}
