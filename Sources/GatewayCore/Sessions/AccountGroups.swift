/// The current groups of accounts, as far as authenticators report them without a password. A value in memory, which
/// stores keep behind a lock.
///
/// A token lists the groups that its user had at the time of issue. This table restricts them, so that a lost group is
/// lost for tokens too. A token gains a new group only when it is renewed.
public struct AccountGroups: Sendable {
    /// Complete lists of the authenticators that have one (`AccountList`).
    private var listed: [PluginName: [UserName: Set<GroupName>]] = [:]
    /// Single accounts of the authenticators that report one account at a time (`AccountAuthenticator`).
    private var reported: [PluginName: [UserName: Set<GroupName>]] = [:]

    /// Creates an empty table.
    public init() {}

    /// Replaces the list of an authenticator.
    ///
    /// - Returns: The users in both lists that lost a group.
    public mutating func replace(
        _ groups: [UserName: Set<GroupName>], of authenticator: PluginName
    ) -> Set<UserName> {
        let before = listed.updateValue(groups, forKey: authenticator) ?? [:]
        reported[authenticator] = nil
        return Set(groups.filter { before[$0.key]?.isSubset(of: $0.value) == false }.keys)
    }

    /// Removes the lists of all other authenticators, because they are no longer configured.
    public mutating func keepLists(of authenticators: Set<PluginName>) {
        listed = listed.filter { authenticators.contains($0.key) }
    }

    /// Records the groups that an authenticator reported for one account. Does nothing for an authenticator with a
    /// list, because its list is newer than what one of its logins reported.
    ///
    /// - Returns: Whether the user lost a group since the previous report.
    @discardableResult
    public mutating func record(_ groups: Set<GroupName>, of user: UserName, by authenticator: PluginName) -> Bool {
        guard listed[authenticator] == nil else { return false }
        let before = reported[authenticator, default: [:]].updateValue(groups, forKey: user)
        return before?.isSubset(of: groups) == false
    }

    /// Removes the reports on all other accounts, because they have neither sessions nor registrations.
    public mutating func keepReports(on accounts: Set<Account>) {
        var kept: [PluginName: Set<UserName>] = [:]
        for account in accounts { kept[account.authenticator, default: []].insert(account.user) }
        for (authenticator, users) in reported {
            let rest = users.filter { kept[authenticator]?.contains($0.key) == true }
            reported[authenticator] = rest.isEmpty ? nil : rest
        }
    }

    /// Returns the groups of the user's account at this authenticator; nil if they are unknown. A user who is missing
    /// from a complete list is in no group.
    public func groups(of user: UserName, by authenticator: PluginName) -> Set<GroupName>? {
        if let list = listed[authenticator] { return list[user] ?? [] }
        return reported[authenticator]?[user]
    }

    /// Returns the union of the groups of all accounts of the user; nil if none is known.
    public func groups(of user: UserName) -> Set<GroupName>? {
        var found: Set<GroupName>?
        for accounts in [listed.values, reported.values] {
            for groups in accounts { if let groups = groups[user] { found = (found ?? []).union(groups) } }
        }
        return found
    }
}
