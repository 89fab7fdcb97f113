/// The waits between attempts to deliver a batch: one second, doubled with each failure up to five minutes, of which a
/// random half is left out so that several gateways do not return to a receiver together.
struct RetryDelay: Sendable {
    private var failures = 0

    /// The wait after the first failure, before the random part.
    static let first = Duration.seconds(1)
    /// The longest wait that is not the receiver's own.
    static let longest = Duration.seconds(300)
    /// The longest wait that a receiver can ask for.
    static let longestRequested = Duration.seconds(3600)

    /// Returns the wait after a failure.
    ///
    /// - Parameters:
    ///   - requested: The wait that the receiver asks for.
    ///   - jitter: A random number from 0 to 1.
    mutating func next(after requested: Duration?, jitter: Double) -> Duration {
        let full = min(Self.first * (1 << min(failures, 16)), Self.longest)
        failures += 1
        let wait = full / 2 + full * (jitter / 2)
        return max(wait, min(requested ?? .zero, Self.longestRequested))
    }

    /// Starts again with the first wait, after a success.
    mutating func reset() { failures = 0 }
}
