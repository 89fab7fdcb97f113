package import GatewaySupport

/// The time and the randomness of the export, as parameters so that tests control them.
package struct TraceExportTiming: Sendable {
    let clocks: Clocks
    /// Returns after the duration. Throws if the task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void
    /// Returns a random number from 0 to 1.
    let jitter: @Sendable () -> Double

    /// The interval at which the export looks at the queue.
    static let pollInterval = Duration.milliseconds(200)
    /// The longest time for which spans wait although they do not fill a batch.
    static let batchInterval = Duration.seconds(5)
    /// The time that the export has for the spans that are left when it is stopped.
    static let stopGrace = Duration.seconds(5)

    init(
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
