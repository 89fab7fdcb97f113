public import NIOCore

/// How the backend is reached; the defaults are those of the product.
public struct UpstreamConfiguration: Sendable {
    /// Where the backend is.
    public var address: UpstreamAddress
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
    /// Bytes of an answer's body; beyond it the answer is `.broken`.
    public var body = 64 * 1024

    /// The backend at the address, with the defaults for the rest.
    public init(address: UpstreamAddress) { self.address = address }
}
