public import NIOCore

/// How a listener listens; the defaults are those of the product.
public struct ListenerConfiguration: Sendable {
    /// Where to listen.
    public enum Address: Sendable, Hashable {
        /// A TCP address: an IPv4 or IPv6 address or a host name, and a port; port 0 is any free one.
        case tcp(host: String, port: Int)
        /// A Unix domain socket and its file mode.
        case unix(path: String, mode: UInt32 = 0o660)
    }

    /// What a request may have; beyond it, it is refused and the connection closed.
    public struct Limits: Sendable, Hashable {
        /// Bytes of the request line without its end: 414 beyond.
        public var requestLine = 8 * 1024
        /// Bytes of all field lines and the empty line: 431 beyond.
        public var headerBlock = 16 * 1024
        /// Field lines: 431 beyond.
        public var fields = 100
        /// Bytes of the body, its transfer coding undone: 413 beyond.
        public var body = 16 * 1024

        /// The defaults.
        public init() {}
    }

    /// What time a peer has; absolute, so that dribbling bytes gains nothing.
    public struct Deadlines: Sendable, Hashable {
        /// From a request's first byte to the end of its head; and from the accepted connection, the handshake of TLS included,
        /// to a first byte.
        public var head: TimeAmount = .seconds(10)
        /// From the end of the head to the end of the body.
        public var body: TimeAmount = .seconds(30)
        /// From an answer to the next request's first byte; a quarter of it while nine tenths of the connections are taken.
        public var idle: TimeAmount = .seconds(60)
        /// For a peer to close after the last answer, before the connection is cut; and for a request on a new connection while the
        /// listener ends.
        public var linger: TimeAmount = .seconds(2)

        /// The defaults.
        public init() {}
    }

    /// How many connections there may be; one more is closed at once, unless an idle one can be closed for it.
    public struct Connections: Sendable, Hashable {
        /// In all. Where nine tenths of them are taken, an idle connection is closed for each new one.
        public var total = 10_000
        /// From one peer address (IPv6: one /64, and four times as many from one /56). Unix sockets are exempt, and so are listed proxies: where they say by the PROXY
        /// protocol for whom a connection is, that address has it, and else the total alone bounds them.
        public var perPeer = 200
        /// Bytes of requests that are not complete, and of answers that clients do not take: 503 beyond, on all connections together.
        public var requestMemory = 64 << 20

        /// The defaults.
        public init() {}
    }

    /// Where to listen.
    public var address: Address
    /// Sizes.
    public var limits = Limits()
    /// Times.
    public var deadlines = Deadlines()
    /// Numbers of connections.
    public var connections = Connections()
    /// The memory that incomplete requests hold; listeners that are given the same ``ConnectionLimit`` have one together.
    var requestMemory = RequestMemory()
    /// Counts the connections; listeners that are given the same count together. Nil for a count of one's own.
    var caps: ConnectionLimit?
    /// Calls in flight; listeners that are given the same count together. One more is answered 503 `overloaded`.
    public var calls = InFlightLimit()
    /// The TLS that connections begin with; nil where they are in the clear.
    public var tls: ServerTLS?
    /// Whether HTTP/2 is spoken beside HTTP/1.1: agreed on by ALPN where there is TLS, with prior knowledge where there is none.
    public var speaksHTTP2 = false
    /// Who is believed to speak for others; nobody unless given.
    public var trust = TrustedProxies()
    /// Whether credentials may travel in the clear beyond this machine. Where not, such calls are refused by the way of a call.
    public var plaintextCredentials = false

    /// A listener at the address, with the defaults for the rest.
    public init(address: Address) { self.address = address }
}
