public import GatewayCore

/// Which keys of limits an operator means: those for which all holds that is given.
public struct LimitPick: Sendable, Hashable {
    /// Of the limit of this name.
    public var limit: String?
    /// That count for this user.
    public var user: UserName?
    /// That count for this group.
    public var group: GroupName?
    /// That count for this recipient.
    public var recipient: UserName?
    /// That count for this address; of IPv6 for its /64.
    public var address: Peer.Address?
    /// That count for this service.
    public var service: PushService?

    /// All keys.
    public init() {}

    /// Whether it picks everything.
    public var isEverything: Bool { self == LimitPick() }
}
