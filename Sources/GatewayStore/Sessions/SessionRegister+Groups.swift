public import GatewayCore
internal import Synchronization

/// The groups of accounts, held in memory only. Authenticators report them again after a restart.
extension SessionRegister {
    /// Replaces an authenticator's list of groups. Applies to all tokens from now on.
    ///
    /// - Returns: The users who lost a group.
    public func replaceGroups(_ groups: [UserName: Set<GroupName>], of authenticator: PluginName) -> Set<UserName> {
        table.withLock { $0.groups.replace(groups, of: authenticator) }
    }

    /// Removes the lists of all other authenticators.
    public func keepGroupLists(of authenticators: Set<PluginName>) {
        table.withLock { $0.groups.keepLists(of: authenticators) }
    }

    /// Stores the groups that an account was just found in.
    public func storeGroups(_ groups: Set<GroupName>, of account: Account) {
        _ = noteGroups(groups, of: account)
    }

    /// Stores the groups that an account was just found in. Returns whether the account lost a group.
    public func noteGroups(_ groups: Set<GroupName>, of account: Account) -> Bool {
        table.withLock { $0.groups.record(groups, of: account.user, by: account.authenticator) }
    }

    /// Removes the stored groups of all other accounts.
    public func keepNotedGroups(of accounts: Set<Account>) {
        table.withLock { $0.groups.keepReports(on: accounts) }
    }
}
