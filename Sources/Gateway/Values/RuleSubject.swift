public import GatewayCore

/// The users that a rule of the policy applies to, or that a limit exempts.
public enum RuleSubject: Sendable, Hashable {
    /// `*`: every user.
    case anyUser
    /// One user by name.
    case user(UserName)
    /// `group:…`: the members of a group.
    case group(GroupName)

    /// Returns whether the rule applies to the user.
    public func covers(_ identity: Identity) -> Bool {
        switch self {
        case .anyUser: true
        case .user(let user): identity.user == user
        case .group(let group): identity.groups.contains(group)
        }
    }
}
