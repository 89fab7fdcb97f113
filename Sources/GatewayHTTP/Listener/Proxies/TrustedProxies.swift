internal import GatewayCore

/// The proxies that a listener trusts to report the client address and the trace context.
public struct TrustedProxies: Sendable, Hashable {
    /// The mechanism by which a trusted proxy reports its client. The other mechanisms are ignored, because a proxy
    /// forwards fields that it does not set itself.
    public enum Source: String, Sendable, Hashable, CaseIterable {
        /// `X-Forwarded-For`, with `X-Forwarded-Proto` for the scheme.
        case xForwardedFor = "x-forwarded-for"
        /// `Forwarded` (RFC 7239).
        case forwarded
        /// The PROXY protocol, version 1 or 2, at the start of the connection.
        case proxyProtocol = "proxy-protocol"
    }

    /// The trusted proxies. An empty list trusts no peer.
    public var proxies: [AddressRange]
    /// The mechanism that the proxies use.
    public var source: Source

    /// Creates a trust configuration.
    public init(proxies: [AddressRange] = [], source: Source = .xForwardedFor) {
        self.proxies = proxies
        self.source = source
    }

    /// Returns whether the peer is a trusted proxy.
    func includes(_ peer: Peer) -> Bool { proxies.contains { $0.contains(peer.address) } }
}

/// The client of a request that came through proxies.
struct RequestOrigin: Equatable {
    /// The client, as reported by the trusted proxies.
    var peer: Peer
    /// Whether the client's own connection was encrypted, as reported by the proxy that accepted it.
    var isEncrypted: Bool
}
