package import GatewaySupport

/// The time and the randomness of deliveries, as parameters so that tests control them.
package struct DeliveryTiming: Sendable {
    package let clocks: Clocks
    /// Returns after the duration. Throws if the task is cancelled.
    package let sleep: @Sendable (Duration) async throws -> Void
    /// Returns a random number from 0 to 1.
    package let jitter: @Sendable () -> Double

    /// Creates a timing from its parts.
    package init(
        clocks: Clocks, sleep: @escaping @Sendable (Duration) async throws -> Void,
        jitter: @escaping @Sendable () -> Double
    ) {
        self.clocks = clocks
        self.sleep = sleep
        self.jitter = jitter
    }

    /// The timing of a running gateway.
    package init(clocks: Clocks) {
        self.init(clocks: clocks, sleep: { try await Task.sleep(for: $0) }, jitter: { Double.random(in: 0...1) })
    }
}
