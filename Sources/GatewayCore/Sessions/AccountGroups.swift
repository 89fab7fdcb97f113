/// The groups that accounts are in now, as far as their authenticators tell without a password: a value in memory, for stores to
/// keep behind a lock.
///
/// A token lists the groups that its user had when it was issued. What it may do is bounded by this table, so that a lost group is
/// lost for tokens too. A group that a user gains reaches a token when the token is renewed.
public struct AccountGroups: Sendable {
    /// Complete lists, of authenticators that have one (`AccountList`).
    private var listed: [PluginName: [UserName: Set<GroupName>]] = [:]
    /// Single accounts, of authenticators that answer for one account at a time (`AccountAuthenticator`).
    private var noted: [PluginName: [UserName: Set<GroupName>]] = [:]

    /// A table of nothing.
    public init() {}

    /// Replaces the list of an authenticator.
    ///
    /// - Returns: the users who are in both lists and have lost a group.
    public mutating func replace(
        _ groups: [UserName: Set<GroupName>], of authenticator: PluginName
    ) -> Set<UserName> {
        let before = listed.updateValue(groups, forKey: authenticator) ?? [:]
        noted[authenticator] = nil
        return Set(groups.filter { before[$0.key]?.isSubset(of: $0.value) == false }.keys)
    }

    /// Drops the lists of all other authenticators: they are no longer configured.
    public mutating func keepLists(of authenticators: Set<PluginName>) {
        listed = listed.filter { authenticators.contains($0.key) }
    }

    /// Notes the groups that an authenticator has just named for one account. An authenticator's list is newer than what one of
    /// its logins said, so nothing is noted where there is a list.
    ///
    /// - Returns: whether the user has lost a group since the last note.
    @discardableResult
    public mutating func note(_ groups: Set<GroupName>, of user: UserName, by authenticator: PluginName) -> Bool {
        guard listed[authenticator] == nil else { return false }
        let before = noted[authenticator, default: [:]].updateValue(groups, forKey: user)
        return before?.isSubset(of: groups) == false
    }

    /// Drops the notes on all other accounts: they have neither sessions nor registrations.
    public mutating func keepNotes(on accounts: Set<Account>) {
        var kept: [PluginName: Set<UserName>] = [:]
        for account in accounts { kept[account.authenticator, default: []].insert(account.user) }
        for (authenticator, users) in noted {
            let rest = users.filter { kept[authenticator]?.contains($0.key) == true }
            noted[authenticator] = rest.isEmpty ? nil : rest
        }
    }

    /// The groups of the account that an authenticator vouched for; nil where it is not known which. A user who is missing from a
    /// complete list is in no group.
    public func groups(of user: UserName, by authenticator: PluginName) -> Set<GroupName>? {
        if let list = listed[authenticator] { return list[user] ?? [] }
        return noted[authenticator]?[user]
    }

    /// The groups of all accounts of the user together; nil where no authenticator is known to have one.
    public func groups(of user: UserName) -> Set<GroupName>? {
        var found: Set<GroupName>?
        for accounts in [listed.values, noted.values] {
            for groups in accounts { if let groups = groups[user] { found = (found ?? []).union(groups) } }
        }
        return found
    }
}
