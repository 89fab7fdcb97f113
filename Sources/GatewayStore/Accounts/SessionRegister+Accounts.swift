public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The account fingerprints in the ledger's database. At startup the gateway compares them with the authenticators'
/// lists to detect accounts that were removed while it was stopped.
extension SessionRegister {
    /// Returns the stored fingerprints of the authenticator's accounts.
    public func accounts(of authenticator: PluginName) async throws(LedgerUnavailable) -> [UserName: AccountFingerprint]
    {
        try await ledger.readAtLength { try $0.accounts(of: authenticator) }
    }

    /// Returns the time since which the name belongs to its current holder; nil if no authenticator lists its accounts.
    public func accountStart(of user: UserName) async throws(LedgerUnavailable) -> WallTime? {
        try await ledger.readAtLength { try $0.accountStart(of: user) }
    }

    /// Returns the accounts that made live registrations. Registrations without a recorded account are skipped.
    public func registeringAccounts() async throws(LedgerUnavailable) -> [Account] {
        try await ledger.readAtLength { try $0.registeringAccounts() }
    }

    /// Returns the number of live registrations that accounts of each authenticator made, also of authenticators that are
    /// no longer configured.
    public func registrationCounts() async throws(LedgerUnavailable) -> [PluginName: Int] {
        try await ledger.readAtLength { try $0.registrationCounts() }
    }

    /// Marks registrations for deletion at the backend: those that accounts of these authenticators made and that were
    /// last seen at `time` or earlier.
    ///
    /// - Returns: The number of registrations marked.
    public func markRegistrationsForDeletion(
        of authenticators: Set<PluginName>, notSeenSince time: WallTime
    ) async throws(LedgerUnavailable) -> Int {
        try await ledger.write { tables in
            try authenticators.reduce(0) { try $0 + tables.markRegistrationsForDeletion(of: $1, notSeenSince: time) }
        }.get()
    }

    /// Stores the changes of an authenticator's accounts. Revokes the access of removed accounts and of accounts with a
    /// new password.
    ///
    /// A revocation takes effect in memory first and is then written to disk. It covers sessions, tokens and labels,
    /// and marks registrations for deletion at the backend.
    public func reconcile(_ changes: AccountChanges, of authenticator: PluginName) async throws(LedgerUnavailable) {
        let (now, time) = (clocks.wall(), revocationTime)
        revokeInMemory(changes.revoked.keys, at: time)
        let written = try await ledger.announce { tables in
            for user in changes.revoked.keys { try tables.revoke(user, at: time) }
            for user in changes.removed { try tables.removeAccount(user, of: authenticator) }
            for (user, fingerprint) in changes.updated {
                try tables.storeAccount(user, fingerprint, of: authenticator, now: now)
            }
        }.get()
        if !changes.revoked.isEmpty { try await waitUntilApplied(written.change) }
    }

    /// Removes the accounts of authenticators that are no longer configured, because nothing reports the status of
    /// these accounts.
    public func keepAccounts(of authenticators: Set<PluginName>) async throws(LedgerUnavailable) {
        try await ledger.write { try $0.keepAccounts(of: authenticators) }.get()
    }

    /// Revokes all sessions, tokens and registrations of the user: in memory first, then on disk.
    public func revoke(_ user: UserName) async throws(LedgerUnavailable) {
        let time = revocationTime
        revokeInMemory([user], at: time)
        try await waitUntilApplied(await ledger.announce { try $0.revoke(user, at: time) }.get().change)
    }
}

/// The difference between two lists of an authenticator's accounts.
public struct AccountChanges: Sendable, Hashable {
    /// The accounts that are missing from the newer list. They may no longer log in.
    public let removed: Set<UserName>
    /// The accounts that are new or have another fingerprint.
    public let updated: [UserName: AccountFingerprint]
    /// The users whose access is revoked, with the reason.
    public let revoked: [UserName: AccountEndReason]

    /// The users whose account has ended or is new: nothing that was meant for a former holder of the name may be left.
    public var replaced: [UserName] { Array(removed) + updated.keys.filter { revoked[$0] == nil } }

    /// Computes the changes from `before` to `now`.
    public init(from before: [UserName: AccountFingerprint], to now: [UserName: AccountFingerprint]) {
        var removed: Set<UserName> = []
        var updated: [UserName: AccountFingerprint] = [:]
        var revoked: [UserName: AccountEndReason] = [:]
        for user in before.keys where now[user] == nil {
            removed.insert(user)
            revoked[user] = .ended
        }
        for (user, fingerprint) in now where before[user] != fingerprint {
            updated[user] = fingerprint
            if before[user] != nil { revoked[user] = .passwordChanged }
        }
        self.removed = removed
        self.updated = updated
        self.revoked = revoked
    }

    /// Whether the two lists are equal.
    public var isEmpty: Bool { removed.isEmpty && updated.isEmpty }
}

/// The groups of accounts, held in memory only. Authenticators report them again after a restart.
extension SessionRegister {
    /// Replaces an authenticator's list of groups. Applies to all tokens from now on.
    ///
    /// - Returns: The users who lost a group.
    public func replaceGroups(_ groups: [UserName: Set<GroupName>], of authenticator: PluginName) -> Set<UserName> {
        table.withLock { $0.groups.replace(groups, of: authenticator) }
    }

    /// Removes the group lists of all authenticators but these.
    public func keepGroupLists(of authenticators: Set<PluginName>) {
        table.withLock { $0.groups.keepLists(of: authenticators) }
    }

    /// Stores the groups that an account was just found in.
    public func storeGroups(_ groups: Set<GroupName>, of account: Account) {
        _ = recordGroups(groups, of: account)
    }

    /// Stores the groups that an account was just found in. Returns whether the account lost a group.
    public func recordGroups(_ groups: Set<GroupName>, of account: Account) -> Bool {
        table.withLock { $0.groups.record(groups, of: account.user, by: account.authenticator) }
    }

    /// Removes the groups that `recordGroups` stored, for all accounts but these.
    public func keepRecordedGroups(of accounts: Set<Account>) {
        table.withLock { $0.groups.keepReports(on: accounts) }
    }
}
