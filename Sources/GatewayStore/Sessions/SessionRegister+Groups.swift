public import GatewayCore
internal import Synchronization

/// The groups of accounts: in memory only, since authenticators tell them again after a start.
extension SessionRegister {
    /// Replaces the list of an authenticator. Counts for every token from here on.
    ///
    /// - Returns: the users who have lost a group.
    public func replaceGroups(_ groups: [UserName: Set<GroupName>], of authenticator: PluginName) -> Set<UserName> {
        table.withLock { $0.groups.replace(groups, of: authenticator) }
    }

    /// Drops the lists of all other authenticators.
    public func keepGroupLists(of authenticators: Set<PluginName>) {
        table.withLock { $0.groups.keepLists(of: authenticators) }
    }

    /// Notes the groups that one account has just been found in.
    public func note(_ groups: Set<GroupName>, of account: Account) {
        _ = noteGroups(groups, of: account)
    }

    /// Notes the groups that one account has just been found in, and returns whether it has lost one.
    public func noteGroups(_ groups: Set<GroupName>, of account: Account) -> Bool {
        table.withLock { $0.groups.note(groups, of: account.user, by: account.authenticator) }
    }

    /// Drops the notes on all other accounts.
    public func keepNotedGroups(of accounts: Set<Account>) {
        table.withLock { $0.groups.keepNotes(on: accounts) }
    }
}
