public import GatewayCore

/// For whom an authenticator may vouch. An operator sets it; the authenticator does not know of it.
public struct VouchingBounds: Sendable, Hashable {
    /// The names that it may vouch for; nil for all.
    public var users: [NamePattern]?
    /// The groups that it may say somebody belongs to; nil for all.
    public var groups: Set<GroupName>?

    /// Bounds from their parts; without them, none.
    public init(users: [NamePattern]? = nil, groups: Set<GroupName>? = nil) {
        self.users = users
        self.groups = groups
    }

    /// Whether the name is within them. What has no canonical form is within no list of names.
    func contain(_ user: UserName?) -> Bool {
        guard let users else { return true }
        guard let user else { return false }
        return users.contains { $0.matches(user) }
    }

    /// Whether the identity is within them, with all its groups.
    func contain(_ identity: Identity) -> Bool {
        contain(identity.user) && groups.map { identity.groups.isSubset(of: $0) } ?? true
    }

    /// Whether there are names that both contain.
    public func overlap(_ other: VouchingBounds) -> Bool {
        // A name has one character at least, so a list that is empty, and only that, overlaps nothing.
        guard let users else { return other.users?.isEmpty != true }
        guard let others = other.users else { return !users.isEmpty }
        return users.contains { user in others.contains { user.overlaps($0) } }
    }
}
