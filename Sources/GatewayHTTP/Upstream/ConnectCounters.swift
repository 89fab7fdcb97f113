public import GatewaySupport

/// Counters of connection attempts to the backend. A reload passes them to the next `Upstream`, so that the metrics
/// stay monotonic. Any loop may use them without a lock.
public final class ConnectCounters: Sendable {
    /// The number of established connections.
    public let made = Counter()
    /// The number of failed connection attempts.
    public let failed = Counter()

    /// Creates counters that start at zero.
    public init() {}
}
