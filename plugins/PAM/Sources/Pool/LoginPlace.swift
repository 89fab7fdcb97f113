internal import GatewayCore

/// Where a login comes from, as far as a fair share goes.
enum LoginPlace: Hashable, Sendable {
    /// An address as limits count it.
    case address(Peer.Address)
    /// The gateway itself, which looks at accounts again.
    case gateway
}
