public import NIOCore

/// The configuration of a listener.
public struct ListenerConfiguration: Sendable {
    /// The address of a listener.
    public enum Address: Sendable, Hashable {
        /// An IPv4 address, an IPv6 address or a host name, and a port. Port 0 selects a free port.
        case tcp(host: String, port: Int)
        /// The path of a Unix domain socket and its file mode.
        case unix(path: String, mode: UInt32 = 0o660)
    }

    /// The size limits of a request. A request that exceeds one is rejected and its connection closed.
    public struct Limits: Sendable, Hashable {
        /// The maximum length of the request line without its line ending, in bytes (status 414).
        public var requestLine = 8 * 1024
        /// The maximum length of all field lines and the empty line, in bytes (status 431).
        public var headerBlock = 16 * 1024
        /// The maximum number of field lines (status 431).
        public var fields = 100
        /// The maximum length of the body after transfer decoding, in bytes (status 413).
        public var body = 16 * 1024

        /// Creates the default limits.
        public init() {}
    }

    /// The deadlines of a connection. They are absolute, so that a slow trickle of bytes does not extend them.
    public struct Deadlines: Sendable, Hashable {
        /// The time for the head of a request, from its first byte. It is also the time from the acceptance of a
        /// connection to its first byte, including the TLS handshake.
        public var head: TimeAmount = .seconds(10)
        /// The time from the end of the head to the end of the body. It is also the time for the client to read the
        /// last response of an HTTP/1.1 connection, or any response of an HTTP/2 connection.
        public var body: TimeAmount = .seconds(30)
        /// The time from a response to the first byte of the next request. It is divided by four while nine tenths of
        /// the connections are in use.
        public var idle: TimeAmount = .seconds(60)
        /// The time for the peer to close the connection after the last response. It is also the time for the first
        /// byte on a new connection while the listener drains.
        public var linger: TimeAmount = .seconds(2)

        /// Creates the default deadlines.
        public init() {}
    }

    /// The connection limits. A connection beyond `perPeer` is closed at once. A connection beyond `total` is closed at
    /// once unless the listener can close an idle one in its place.
    public struct Connections: Sendable, Hashable {
        /// The maximum number of connections. Above nine tenths of it, an idle connection is closed for each new one.
        public var total = 10_000
        /// The maximum number of connections of one peer address. For IPv6 it applies to a /64, and four times as many
        /// are allowed for a /56. Unix sockets and trusted proxies are exempt, so that only `total` limits them. A
        /// connection whose client was reported through the PROXY protocol counts for that client.
        public var perPeer = 200
        /// The maximum memory for incomplete requests and unread responses on all connections, in bytes. Requests
        /// beyond it get status 503.
        public var requestMemory = 64 << 20

        /// Creates the default limits.
        public init() {}
    }

    /// The address of the listener.
    public var address: Address
    /// The size limits.
    public var limits = Limits()
    /// The deadlines.
    public var deadlines = Deadlines()
    /// The connection limits.
    public var connections = Connections()
    /// The shared account of the memory for incomplete requests and unread responses. Set by `Listener.start` from the
    /// ``ConnectionLimit``; any other value is overwritten.
    var requestMemory = RequestMemory()
    /// The connection limits in use, which several listeners may share. Set by `Listener.start`; any other value is
    /// overwritten.
    var connectionLimit: ConnectionLimit?
    /// The limit on calls in flight, which several listeners may share. A call beyond it gets status 503, `overloaded`.
    public var calls = InFlightLimit()
    /// The TLS configuration; nil disables TLS.
    public var tls: ServerTLS?
    /// Whether HTTP/2 is supported besides HTTP/1.1: through ALPN with TLS, and with prior knowledge without TLS.
    public var supportsHTTP2 = false
    /// The trusted proxies; none by default.
    public var trustedProxies = TrustedProxies()
    /// The verification of client certificates that trusted proxies forward (RFC 9440); nil ignores them.
    public var forwardedCertificates: ClientCertificateVerifier?
    /// Whether credentials are accepted on unencrypted connections from other machines. If false, the request pipeline
    /// rejects such calls.
    public var allowsPlaintextCredentials = false

    /// Creates a configuration for the address, with the defaults for the rest.
    public init(address: Address) { self.address = address }
}
