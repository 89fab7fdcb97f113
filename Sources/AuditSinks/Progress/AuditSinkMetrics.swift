internal import GatewaySupport

/// The counters of one sink, which outlive a change of its settings.
final class AuditSinkMetrics: Sendable {
    let sent = Counter()
    let failures = Counter()
    let lost = Counter()
}

/// The state of one sink for the metrics.
public struct AuditSinkReading: Sendable, Hashable {
    /// The name of the sink.
    public let name: String
    /// Whether the sink has read its position. The other values are 0 before.
    public let isStarted: Bool
    /// The number of durable records that the receiver has not confirmed.
    public let recordsBehind: UInt64
    /// The age of the oldest of them, in seconds.
    public let secondsBehind: Double
    /// The number of confirmed records since the start.
    public let sent: UInt64
    /// The number of failed deliveries and of failures to read the journal or to write the cursor.
    public let failures: UInt64
    /// The number of records that the journal no longer contained when the sink wanted to send them.
    public let lost: UInt64
}
