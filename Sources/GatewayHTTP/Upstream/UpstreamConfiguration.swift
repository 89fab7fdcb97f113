public import NIOCore

/// How the backend is reached; the defaults are those of the product.
public struct UpstreamConfiguration: Sendable, Hashable {
    /// Where the backend is.
    public var address: UpstreamAddress
    /// Further addresses of the same backend.
    public var others: [UpstreamAddress] = []
    /// What the `Host` field of checks says.
    public var host = "localhost"
    /// How addresses are checked without a call; nil for not at all.
    public var check: Check?
    /// How a backend behind TLS is verified; without it such a backend is verified by the authorities of the system.
    public var tls: ClientTLS?
    /// What making a connection may take, and then the handshake of TLS.
    public var connectTimeout: TimeAmount = .seconds(2)
    /// Connections in all; divided among the event loops, at least one each.
    public var connections = 256
    /// Requests in all that may wait for a connection, divided among the event loops; one more is `.overloaded`.
    public var waiting = 2048
    /// A request that must not be repeated takes a connection that was used no longer ago than this, or a new one.
    public var freshness: TimeAmount = .seconds(5)
    /// After this a connection without work is closed.
    public var idle: TimeAmount = .seconds(30)
    /// After this a connection takes no further request, so that what a name stands for may change.
    public var age: TimeAmount = .minutes(10)
    /// Bytes of an answer's body; beyond it the answer is `.broken`.
    public var body = 64 * 1024

    /// A request that each address must answer with a status below 500.
    public struct Check: Sendable, Hashable {
        /// The path that is asked for.
        public var path: String
        /// From one answer to the next question.
        public var period: TimeAmount
        /// How long an answer may take.
        public var timeout: TimeAmount = .seconds(2)

        /// A check of a path.
        public init(path: String, period: TimeAmount) {
            self.path = path
            self.period = period
        }
    }

    /// The backend at the address, with the defaults for the rest.
    public init(address: UpstreamAddress) { self.address = address }

    /// Every address.
    public var addresses: [UpstreamAddress] { [address] + others }
}
