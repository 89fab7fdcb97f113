package import GatewayCore

/// The source of a login, for fair sharing of the workers.
package enum LoginOrigin: Hashable, Sendable {
    /// A client address, truncated as rate limits count it.
    case address(Peer.Address)
    /// The gateway itself, which rechecks accounts.
    case gateway
}
