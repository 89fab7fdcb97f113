public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The sessions and revocations, held in memory for lookups and stored in the ledger's database.
///
/// Safe to use from any thread. Each critical section is short: a few lookups.
public final class SessionRegister: SessionStore {
    let ledger: StoredLedger
    let clocks: Clocks
    let table: Mutex<SessionTable>
    /// A copy of the table's revocation count, readable without the lock.
    let revocations: Atomic<UInt64>
    private let confirmed: Mutex<ConfirmedTime>
    /// The changes that have effect in memory and are not on disk yet.
    let unwritten = Mutex(UnwrittenChanges())
    /// Those of them whose write failed. The next write includes them.
    private let failed = Mutex(UnwrittenChanges())

    /// The number of the last change of the store's nodes that is in the table. Written with the table's lock.
    let applied = Atomic<Int64>(0)
    /// Receives the users whose access another gateway has revoked; set once at startup.
    let onRevocationElsewhere = Mutex<@Sendable (UserName) -> Void>({ _ in })

    /// How long expired records are kept, in microseconds: as long as the largest clock step that ``ConfirmedTime``
    /// accepts at once, so that such a step deletes no record early.
    private static let margin: Int64 = 86_400_000_000

    /// The longest revocation of a single token, in microseconds: the longest lifetime of a token, a minute by which it
    /// may be dated ahead, and a minute for which it is accepted after its expiry. The `exp` of a token that an
    /// operator revokes is not verified and may be any number.
    private static let maximumRevocation = (SessionTable.revocationLifetime + 60) * 1_000_000

    /// Reads sessions and revocations from the ledger. Blocks; called at startup.
    public init(_ ledger: StoredLedger, clocks: Clocks) throws(LedgerUnavailable) {
        self.ledger = ledger
        self.clocks = clocks
        let database = ledger.database
        let last = try database.readTables { (tables: LedgerTables) in try tables.confirmedTime() }
        let time = ConfirmedTime(stored: last, clocks: clocks)
        confirmed = Mutex(time)
        let end = time.time.adding(-Self.margin)
        let found = try database.readTables { (tables: LedgerTables) in
            (table: try tables.sessionTable(at: end), position: tables.node == nil ? .none : try tables.lastPosition())
        }
        table = Mutex(found.table)
        revocations = Atomic(found.table.epoch.count)
        follow(after: found.position)
    }

    /// Whether the sessions are up to date with the changes of other gateways.
    public var isCurrent: Bool { ledger.isCurrent }

    /// The number of user revocations so far.
    public var epoch: RevocationEpoch { RevocationEpoch(count: revocations.load(ordering: .acquiring)) }

    /// Returns whether a token was revoked.
    public func isRevoked(_ token: TokenReference, of user: UserName) -> Bool {
        table.withLock { $0.isRevoked(token, of: user) }
    }

    /// Returns the current groups of all accounts of a user; nil if no authenticator reports them.
    public func groups(of user: UserName) -> Set<GroupName>? { table.withLock { $0.groups.groups(of: user) } }

    /// Returns the current groups of the account that the token was issued to; nil if no authenticator reports them.
    public func groups(behind token: TokenReference, of user: UserName) -> Set<GroupName>? {
        table.withLock { $0.groups(behind: token, of: user) }
    }

    /// Returns whether the user was revoked since the epoch.
    public func wasRevoked(_ user: UserName, since: RevocationEpoch) -> Bool {
        since != epoch && table.withLock { $0.wasRevoked(user, since: since) }
    }

    /// Returns whether the authenticator was removed or replaced since the epoch.
    public func wasWithdrawn(_ authenticator: PluginName, since: RevocationEpoch) -> Bool {
        since != epoch && table.withLock { $0.wasWithdrawn(authenticator, since: since) }
    }

    /// Refuses what is still in progress of the logins that these authenticators verified. Called when a reload has removed
    /// or replaced them. Sessions stay.
    public func withdraw(_ authenticators: Set<PluginName>) {
        table.withLock { table in
            table.withdraw(authenticators)
            revocations.store(table.epoch.count, ordering: .releasing)
        }
    }

    /// Returns whether the login has ended at its identity provider since the epoch.
    public func wasLoggedOut(_ login: ProviderLogin, since: RevocationEpoch) -> Bool {
        since != epoch && table.withLock { $0.wasLoggedOut(login, since: since) }
    }

    /// Returns the session, if it exists and has not expired.
    public func session(_ id: SessionID) -> Session? {
        let now = clocks.wall()
        return table.withLock { $0.session(id) }.flatMap { $0.ends > now ? $0 : nil }
    }

    /// Returns the user's sessions, most recently renewed first.
    public func sessions(of user: UserName) -> [Session] {
        let now = clocks.wall()
        return table.withLock { $0.sessions(of: user, at: now) }
    }

    /// The number of sessions, including expired ones that were not removed yet.
    public var count: Int { table.withLock(\.count) }

    /// All sessions, ordered by user and then by renewal, most recent first.
    public var allSessions: [Session] {
        let now = clocks.wall()
        return table.withLock(\.all).filter { $0.ends > now }
            .sorted { ($0.user.text, $1.renewed, $0.id.text) < ($1.user.text, $0.renewed, $1.id.text) }
    }

    /// Adds a session, and ends those that it replaces. A call that succeeds has written it, so that after a crash no token
    /// remains valid without its session. Which sessions it replaces is decided in the transaction, so that each of any
    /// number of logins at once writes only what it changes.
    public func start(
        _ session: Session, since: RevocationEpoch, limit: Int
    ) async throws(LedgerUnavailable) -> [Session]? {
        let isAdded = Atomic(false)
        let written: Result<[Session]?, LedgerUnavailable> = await ledger.write(
            knowingRevocationsOf: session.user, beginsSession: true
        ) { [self] tables in
            // In memory before the commit, so that whatever ends the session from now on finds it. Nobody has a token of it.
            let isAllowed = table.withLock { table in
                if table.wasEnded(session, since: since) { return false }
                // An attempt before this one has added it, and it was closed since.
                if isAdded.load(ordering: .relaxed), table.session(session.id) == nil { return false }
                table.replace(session.id, by: session)
                isAdded.store(true, ordering: .relaxed)
                return true
            }
            return isAllowed ? try tables.store(session, limit: limit) : nil
        }
        guard case .success(let replaced?) = written else {
            table.withLock { _ = $0.delete(session.id, of: session.user) }
            return try written.get()
        }
        let hasEnded = table.withLock { table in
            for ended in replaced { _ = table.delete(ended.id, of: ended.user) }
            return table.session(session.id) == nil || table.wasEnded(session, since: since)
        }
        if hasEnded {
            // The transaction of what has ended it may have run before that of the session.
            let close = UnwrittenChanges(sessions: [session.id: session.user])
            table.withLock { _ = $0.delete(session.id, of: session.user) }
            unwritten.withLock { $0 = $0.adding(close) }
            // `removeExpired` retries a failed removal, and the caller knows that the session has ended.
            try? await write(close)
            return nil
        }
        return replaced
    }

    /// Writes changes that have effect in memory only, and those whose write failed before. Each call writes its own, so that
    /// many at once write each change once.
    func write(_ own: UnwrittenChanges) async throws(LedgerUnavailable) {
        let changes = failed.withLock { failed in
            defer { failed = UnwrittenChanges() }
            return failed.adding(own)
        }
        if changes.isEmpty { return }
        let written = await ledger.announce { tables in
            try tables.removeSessions(changes.sessions.map { ($0.key, $0.value) })
            for (token, until) in changes.tokens { try tables.revoke(token: token.id, of: token.user, until: until) }
            for logout in changes.logouts { try tables.store(logout) }
        }
        if written.isSuccess {
            unwritten.withLock { $0.remove(changes) }
        } else {
            failed.withLock { $0 = $0.adding(changes) }
        }
        try await waitUntilApplied(written.get().change)
    }

    /// Returns the user of a session that is closed in memory but not on disk; nil if there is none.
    public func userOfUnwrittenClose(_ id: SessionID) -> UserName? { unwritten.withLock { $0.sessions[id] } }

    /// Stores a renewal, on disk first. Returns false if the session does not exist.
    public func renew(_ id: SessionID) async throws(LedgerUnavailable) -> Bool {
        guard let user = table.withLock({ $0.session(id)?.user }) else { return false }
        let now = clocks.wall()
        let isStored = try await ledger.announce { try $0.renewSession(id, of: user, at: now) }.get().value
        return isStored && table.withLock { $0.renew(id, at: now) }
    }

    /// Closes a session in memory, then on disk. If the write fails, the session is open again.
    public func delete(_ id: SessionID, of user: UserName) async throws(LedgerUnavailable) -> Bool {
        guard table.withLock({ $0.beginDeleting(id, of: user) }) else { return false }
        let written = await ledger.announce { try $0.removeSessions([(id, user)]) }
        table.withLock { $0.finishDeleting(id, of: user, isWritten: written.isSuccess) }
        try await waitUntilApplied(written.get().change)
        return true
    }

    /// Revokes one token in memory, then on disk. If the write fails, the token is valid again.
    public func revoke(token id: String, of user: UserName, until: WallTime) async throws(LedgerUnavailable) {
        let until = limited(until)
        table.withLock { $0.beginRevoking(token: id, of: user) }
        let written = await ledger.announce { try $0.revoke(token: id, of: user, until: until) }
        table.withLock { $0.finishRevoking(token: id, of: user, until: written.isSuccess ? until : nil) }
        try await waitUntilApplied(written.get().change)
    }

    /// Closes a session for an operator, or because its account was removed: in memory, then on disk. If the write
    /// fails, the session stays closed in memory; a repeated call and `removeExpired` retry the write.
    ///
    /// - Returns: Whether the session is closed now. False if it was closed on disk before.
    public func deleteNow(_ id: SessionID, of user: UserName) async throws(LedgerUnavailable) -> Bool {
        let close = UnwrittenChanges(sessions: [id: user])
        let isClosed = table.withLock { table in
            guard table.delete(id, of: user) else { return false }
            unwritten.withLock { $0 = $0.adding(close) }
            return true
        }
        guard isClosed || userOfUnwrittenClose(id) == user else { return false }
        try await write(close)
        return true
    }

    /// Ends the sessions of a login at an identity provider: in memory, then on disk. If the write fails, they stay
    /// ended in memory; a repeated call and `removeExpired` retry the write.
    public func logOut(_ logout: ProviderLogout) async throws(LedgerUnavailable) -> [Session] {
        let (ended, changes) = table.withLock { table in
            let ended = table.logOut(logout)
            revocations.store(table.epoch.count, ordering: .releasing)
            var changes = UnwrittenChanges(logouts: [logout])
            for session in ended { changes.sessions[session.id] = session.user }
            unwritten.withLock { $0 = $0.adding(changes) }
            return (ended, changes)
        }
        try await write(changes)
        return ended
    }

    /// Revokes one token for an operator: in memory, then on disk. If the write fails, it stays revoked in memory,
    /// and a repeated call and `removeExpired` retry the write.
    public func revokeInMemory(token id: String, of user: UserName, until: WallTime) async throws(LedgerUnavailable) {
        let revocation = UnwrittenChanges(tokens: [.init(user: user, id: id): limited(until)])
        table.withLock { table in
            for until in revocation.tokens.values { table.revoke(token: id, of: user, until: until) }
        }
        unwritten.withLock { $0 = $0.adding(revocation) }
        try await write(revocation)
    }

    /// Returns the time, limited to the latest one at which a token from now can still be accepted.
    private func limited(_ until: WallTime) -> WallTime {
        // If the clock was set back, the later time counts.
        min(until, max(clocks.wall(), confirmedTime).adding(Self.maximumRevocation))
    }

    /// Revokes all access of the users, in memory only. The caller then writes the revocations to disk.
    func revokeInMemory(_ users: some Sequence<UserName>, at now: WallTime) {
        table.withLock { table in
            for user in users { table.revoke(user, at: now) }
            revocations.store(table.epoch.count, ordering: .releasing)
        }
    }

    /// The time by which records expire. See ``ConfirmedTime``.
    public var confirmedTime: WallTime { confirmed.withLock { $0.advance(clocks) } }

    /// The time up to which a revocation that happens now counts. See ``ConfirmedTime/latest``.
    var revocationTime: WallTime {
        confirmed.withLock { confirmed in
            _ = confirmed.advance(clocks)
            return confirmed.latest
        }
    }

    /// Removes sessions and revocations that have expired by the confirmed time.
    public func removeExpired() async throws(LedgerUnavailable) {
        let now = confirmedTime
        let end = now.adding(-Self.margin)
        table.withLock { $0.removeExpired(at: end) }
        try await ledger.write {
            try $0.storeConfirmedTime(now)
            try $0.removeSessions(before: end)
        }.get()
        try await write(UnwrittenChanges())
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
