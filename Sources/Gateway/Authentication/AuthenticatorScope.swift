public import GatewayCore

/// The users and groups that an authenticator may accept. Set by the operator; the authenticator does not know them.
public struct AuthenticatorScope: Sendable, Hashable {
    /// The allowed user names; nil for all.
    public var users: [NamePattern]?
    /// The allowed groups; nil for all.
    public var groups: Set<GroupName>?

    /// Creates a scope; without arguments everything is allowed.
    public init(users: [NamePattern]? = nil, groups: Set<GroupName>? = nil) {
        self.users = users
        self.groups = groups
    }

    /// Returns whether the name is allowed. A name without canonical form (nil) is allowed only if all names are.
    public func contain(_ user: UserName?) -> Bool {
        guard let users else { return true }
        guard let user else { return false }
        return users.contains { $0.matches(user) }
    }

    /// Returns whether the user and all groups of the identity are allowed.
    public func contain(_ identity: Identity) -> Bool {
        contain(identity.user) && groups.map { identity.groups.isSubset(of: $0) } ?? true
    }

    /// Returns whether some name is allowed by both.
    public func overlap(_ other: AuthenticatorScope) -> Bool {
        // A name has at least one character, so only an empty list overlaps nothing.
        guard let users else { return other.users?.isEmpty != true }
        guard let others = other.users else { return !users.isEmpty }
        return users.contains { user in others.contains { user.overlaps($0) } }
    }
}
