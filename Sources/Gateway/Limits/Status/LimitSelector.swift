public import GatewayCore

/// An operator's selection of limit keys: the keys that match all given properties.
public struct LimitSelector: Sendable, Hashable {
    /// Matches the limit with this name.
    public var limit: String?
    /// Matches keys of this user.
    public var user: UserName?
    /// Matches keys of this group.
    public var group: GroupName?
    /// Matches keys of this recipient.
    public var recipient: UserName?
    /// Matches keys of this address, or of its /64 for IPv6.
    public var address: Peer.Address?
    /// Matches keys of this push service.
    public var service: PushService?

    /// Creates a selection of all keys.
    public init() {}

    /// Whether the selection matches all keys.
    public var isEverything: Bool { self == LimitSelector() }
}
