public import GatewayCore

/// Counts the attempts to connect to the backend. Outlasts an `Upstream` where the next one is given it, so that what was counted
/// never goes back while configurations come and go. From any loop, without a lock.
public final class ConnectCounters: Sendable {
    /// Connections that were made.
    public let made = Counter()
    /// Connections that could not be made.
    public let failed = Counter()

    /// Nothing counted yet.
    public init() {}
}
