public import GatewayCore

/// Accounts as they stood when they were last looked at, so that a start finds out what ended while nothing ran.
extension SessionRegister {
    /// The accounts of an authenticator as they were settled last.
    public func accounts(of authenticator: PluginName) async throws(LedgerUnavailable) -> [UserName: AccountMark] {
        try await ledger.readAtLength { try $0.accounts(of: authenticator) }
    }

    /// Since when the name has been its present holder's, as far as an authenticator lists its accounts; nil where none does.
    public func presentLife(of user: UserName) async throws(LedgerUnavailable) -> WallTime? {
        try await ledger.readAtLength { try $0.presentLife(of: user) }
    }

    /// The accounts by which registrations were made that are live, where it was said with them.
    public func registeringAccounts() async throws(LedgerUnavailable) -> [Account] {
        try await ledger.readAtLength { try $0.registeringAccounts() }
    }

    /// Marks to be deleted at the backend what accounts of these authenticators registered and what was not seen since the time.
    ///
    /// - Returns: how many registrations.
    public func doomRegistrations(
        of authenticators: Set<PluginName>, notSeenSince time: WallTime
    ) async throws(LedgerUnavailable) -> Int {
        try await ledger.write { tables in
            try authenticators.reduce(0) { try $0 + tables.doomRegistrations(of: $1, notSeenSince: time) }
        }.get()
    }

    /// Settles what became of an authenticator's accounts. Who ended or has another password loses at once what they were
    /// granted, and then on disk: sessions, tokens, labels; registrations are marked to be deleted at the backend.
    public func settle(_ changes: AccountChanges, of authenticator: PluginName) async throws(LedgerUnavailable) {
        let now = clocks.wall()
        revokeAtOnce(changes.revoked.keys, at: now)
        try await ledger.write { tables in
            for user in changes.revoked.keys { try tables.revoke(user, at: now) }
            for user in changes.ended { try tables.removeAccount(user, of: authenticator) }
            for (user, mark) in changes.standing {
                try tables.putAccount(user, mark, of: authenticator, now: now)
            }
        }.get()
    }

    /// Forgets the accounts of authenticators that are no longer configured: nobody can say how they stand.
    public func keepAccounts(of authenticators: Set<PluginName>) async throws(LedgerUnavailable) {
        try await ledger.write { try $0.keepAccounts(of: authenticators) }.get()
    }

    /// Takes back at once, and then on disk, all that a user was granted.
    public func revoke(_ user: UserName) async throws(LedgerUnavailable) {
        let now = clocks.wall()
        revokeAtOnce([user], at: now)
        try await ledger.write { try $0.revoke(user, at: now) }.get()
    }
}

/// What became of an authenticator's accounts between two looks.
public struct AccountChanges: Sendable, Hashable {
    /// Those that may no longer log in.
    public let ended: Set<UserName>
    /// Those that are new, or have another mark.
    public let standing: [UserName: AccountMark]
    /// Whose grants are taken back, and why.
    public let revoked: [UserName: AccountEnd]

    /// The changes from one look to the next.
    public init(from before: [UserName: AccountMark], to now: [UserName: AccountMark]) {
        var ended: Set<UserName> = []
        var standing: [UserName: AccountMark] = [:]
        var revoked: [UserName: AccountEnd] = [:]
        for user in before.keys where now[user] == nil {
            ended.insert(user)
            revoked[user] = .ended
        }
        for (user, mark) in now where before[user] != mark {
            standing[user] = mark
            if before[user] != nil { revoked[user] = .passwordChanged }
        }
        self.ended = ended
        self.standing = standing
        self.revoked = revoked
    }

    /// Whether nothing has changed.
    public var isEmpty: Bool { ended.isEmpty && standing.isEmpty }
}
