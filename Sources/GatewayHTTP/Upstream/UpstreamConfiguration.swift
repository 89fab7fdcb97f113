public import NIOCore

/// The configuration of the connections to the backend.
public struct UpstreamConfiguration: Sendable, Hashable {
    /// The first address of the backend.
    public var address: UpstreamAddress
    /// Further addresses of the same backend.
    public var otherAddresses: [UpstreamAddress] = []
    /// The value of the `Host` field in health checks.
    public var host = "localhost"
    /// The health check of each address; nil disables health checks.
    public var healthCheck: Check?
    /// The TLS configuration for `https` addresses; nil trusts the authorities of the system.
    public var tls: ClientTLS?
    /// The timeout of a connection attempt. It applies separately to the TLS handshake.
    public var connectTimeout: TimeAmount = .seconds(2)
    /// The maximum number of connections. It is divided among the event loops; each loop has at least one.
    public var maximumConnections = 256
    /// The maximum number of requests that wait for a connection, divided among the event loops. A request beyond it
    /// fails with `.overloaded`.
    public var maximumWaiting = 2048
    /// The maximum idle time of a connection that carries a request which must not be repeated. The backend may close a
    /// connection with a longer idle time at any moment.
    public var maximumIdleTimeForNonRetryable: TimeAmount = .seconds(5)
    /// The idle time after which a connection is closed.
    public var idleTimeout: TimeAmount = .seconds(30)
    /// The age after which a connection carries no further request, so that changes in DNS take effect.
    public var maximumAge: TimeAmount = .minutes(10)
    /// The maximum length of a response body, in bytes. A longer response fails with `.broken`.
    public var bodyLimit = 64 * 1024

    /// An HTTP health check. An address is healthy if it responds with a status below 500.
    public struct Check: Sendable, Hashable {
        /// The path of the request.
        public var path: String
        /// The time from one result to the next request.
        public var period: TimeAmount
        /// The maximum time of one request.
        public var timeout: TimeAmount = .seconds(2)

        /// Creates a health check for a path.
        public init(path: String, period: TimeAmount) {
            self.path = path
            self.period = period
        }
    }

    /// Creates a configuration for one address, with the defaults for the rest.
    public init(address: UpstreamAddress) { self.address = address }

    /// All addresses of the backend, the first one first.
    public var addresses: [UpstreamAddress] { [address] + otherAddresses }
}
