internal import GatewayCore

/// Whom a listener believes about the client behind them, and by what. They are believed which trace a request belongs to, too.
public struct TrustedProxies: Sendable, Hashable {
    /// By what a listed proxy says for whom it speaks. The other ways count for nothing: a proxy passes on what it does not set.
    public enum Source: String, Sendable, Hashable, CaseIterable {
        /// `X-Forwarded-For`, and `X-Forwarded-Proto` for the scheme.
        case xForwardedFor = "x-forwarded-for"
        /// `Forwarded` (RFC 7239).
        case forwarded
        /// The PROXY protocol, version 1 or 2, before anything else on the connection.
        case proxyProtocol = "proxy-protocol"
    }

    /// The proxies that are believed; nobody where it is empty.
    public var proxies: [AddressRange]
    /// By what.
    public var source: Source

    /// Trust in some proxies.
    public init(proxies: [AddressRange] = [], source: Source = .xForwardedFor) {
        self.proxies = proxies
        self.source = source
    }

    /// Whether the peer is one of the proxies.
    func includes(_ peer: Peer) -> Bool { proxies.contains { $0.contains(peer.address) } }
}

/// Who is at the far end of a way through proxies.
struct RequestOrigin: Equatable {
    /// The client, as far as those who are believed say.
    var peer: Peer
    /// Whether the client's own connection was encrypted, by the word of the proxy that it was made to.
    var isEncrypted: Bool
}
