public import GatewaySupport

/// The time and the randomness of sinks, as parameters so that tests control them.
public struct AuditSinkTiming: Sendable {
    let clocks: Clocks
    /// Returns after the duration. Throws if the task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void
    /// Returns a random number from 0 to 1.
    let jitter: @Sendable () -> Double

    /// The interval at which a sink without a backlog looks for records.
    static let pollInterval = Duration.milliseconds(250)
    /// The time that a delivery in progress has when its sink is stopped.
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
    public init(clocks: Clocks) {
        self.init(
            clocks: clocks, sleep: { try await Task.sleep(for: $0) }, jitter: { Double.random(in: 0...1) })
    }
}
