internal import GRDB
public import GatewayCore
internal import Synchronization

/// Sessions and revocations: in memory for those who ask, in the ledger's database for the next start.
///
/// Safe to use from any thread. Each critical section is some look-ups long.
public final class SessionRegister: SessionStore {
    let ledger: SQLiteLedger
    let clocks: Clocks
    let table: Mutex<SessionTable>
    /// The table's, for those who only want to know whether anything has happened.
    private let revocations: Atomic<UInt64>
    private let agreed: Mutex<AgreedTime>
    /// The sessions that have ended in memory while their rows could not be removed.
    private let endedRows = Mutex<Set<SessionID>>([])

    /// For how long after its end anything is kept, in microseconds: a difference that is believed at once forgets nothing.
    private static let margin: Int64 = 86_400_000_000

    /// Reads what the ledger has. Blocks; called at start.
    public init(_ ledger: SQLiteLedger, clocks: Clocks) throws(LedgerUnavailable) {
        self.ledger = ledger
        self.clocks = clocks
        do {
            let last = try ledger.database.read { try LedgerTables($0).agreedTime() }
            let time = AgreedTime(keptFrom: last, clocks: clocks)
            agreed = Mutex(time)
            let end = time.time.adding(-Self.margin)
            let found = try ledger.database.read { try LedgerTables($0).sessionTable(at: end) }
            table = Mutex(found)
            revocations = Atomic(found.epoch.count)
        } catch {
            throw LedgerUnavailable(describing: error)
        }
    }

    /// How many users have been revoked since the start.
    public var epoch: RevocationEpoch { RevocationEpoch(count: revocations.load(ordering: .acquiring)) }

    /// Whether a token is of no more worth.
    public func isRevoked(_ token: TokenReference, of user: UserName) -> Bool {
        table.withLock { $0.isRevoked(token, of: user) }
    }

    /// The groups that the token's account is in now; nil where no authenticator tells.
    public func groups(behind token: TokenReference, of user: UserName) -> Set<GroupName>? {
        table.withLock { $0.groups(behind: token, of: user) }
    }

    /// Whether the user has been revoked since.
    public func wasRevoked(_ user: UserName, since: RevocationEpoch) -> Bool {
        since != epoch && table.withLock { $0.wasRevoked(user, since: since) }
    }

    /// Whether the user was revoked at that time or later, as far as that still matters.
    public func wasRevoked(_ user: UserName, after time: WallTime) -> Bool {
        table.withLock { $0.cutoff(of: user).map { $0 >= time } ?? false }
    }

    /// The session, if it has not ended.
    public func session(_ id: SessionID) -> Session? {
        let now = clocks.wall()
        return table.withLock { $0.session(id) }.flatMap { $0.ends > now ? $0 : nil }
    }

    /// The user's sessions, the one renewed last first.
    public func sessions(of user: UserName) -> [Session] {
        let now = clocks.wall()
        return table.withLock { $0.sessions(of: user, at: now) }
    }

    /// How many sessions there are, those included that have ended by themselves and that nobody has looked at since.
    public var count: Int { table.withLock(\.count) }

    /// Every session, in the order of users, each user's renewed last first.
    public var allSessions: [Session] {
        let now = clocks.wall()
        return table.withLock(\.all).filter { $0.ends > now }
            .sorted { ($0.user.text, $1.renewed, $0.id.text) < ($1.user.text, $0.renewed, $1.id.text) }
    }

    /// Adds a session: on disk first, so that no token of it outlives a crash that it does not.
    public func start(_ session: Session, since: RevocationEpoch) async throws(LedgerUnavailable) -> Bool {
        if wasRevoked(session.user, since: since) { return false }
        try await ledger.write { try $0.put(session) }.get()
        let gone: [SessionID]? = table.withLock { table in
            table.wasRevoked(session.user, since: since) ? nil : table.add(session)
        }
        // Revoked while it was written: the revocation's own transaction may have come before.
        let removed = gone ?? [session.id]
        if !removed.isEmpty {
            endedRows.withLock { $0.formUnion(removed) }
            // What fails here is tried again by `forgetEnded`; the session has begun all the same.
            try? await removeEndedRows()
        }
        return gone != nil
    }

    /// Removes the rows of sessions that have ended in memory.
    private func removeEndedRows() async throws(LedgerUnavailable) {
        let rows = endedRows.withLock(\.self)
        if rows.isEmpty { return }
        try await ledger.write { try $0.removeSessions(Array(rows)) }.get()
        endedRows.withLock { $0.subtract(rows) }
    }

    /// Notes a renewal: on disk first.
    public func renew(_ id: SessionID) async throws(LedgerUnavailable) -> Bool {
        guard table.withLock({ $0.session(id) }) != nil else { return false }
        let now = clocks.wall()
        try await ledger.write { try $0.renewSession(id, at: now) }.get()
        return table.withLock { $0.renew(id, at: now) }
    }

    /// Ends a session: at once, and then on disk. Where that fails the session goes on.
    public func end(_ id: SessionID, of user: UserName) async throws(LedgerUnavailable) -> Bool {
        guard table.withLock({ $0.beginEnding(id, of: user) }) else { return false }
        let written = await ledger.write { try $0.removeSessions([id]) }
        table.withLock { $0.finishEnding(id, of: user, isWritten: written.isSuccess) }
        try written.get()
        return true
    }

    /// Takes one token back: at once, and then on disk. Where that fails the token is good again.
    public func revoke(token id: String, of user: UserName, until: WallTime) async throws(LedgerUnavailable) {
        table.withLock { $0.beginRevoking(token: id, of: user) }
        let written = await ledger.write { try $0.revoke(token: id, of: user, until: until) }
        table.withLock { $0.finishRevoking(token: id, of: user, until: written.isSuccess ? until : nil) }
        try written.get()
    }

    /// Ends a session for an operator, or since its account has ended: at once, and then on disk. In memory it has ended whatever the
    /// disk says; a call that throws counts until the next start.
    public func endAtOnce(_ id: SessionID, of user: UserName) async throws(LedgerUnavailable) -> Bool {
        guard table.withLock({ $0.end(id, of: user) }) else { return false }
        try await ledger.write { try $0.removeSessions([id]) }.get()
        return true
    }

    /// Takes one token back for an operator: at once, and then on disk. In memory it stays revoked whatever the disk says.
    public func revokeAtOnce(token id: String, of user: UserName, until: WallTime) async throws(LedgerUnavailable) {
        table.withLock { $0.revoke(token: id, of: user, until: until) }
        try await ledger.write { try $0.revoke(token: id, of: user, until: until) }.get()
    }

    /// Takes back all that the users were granted, in memory alone: `endAccounts` or `endUser` follows.
    func revokeAtOnce(_ users: some Sequence<UserName>, at now: WallTime) {
        table.withLock { table in
            for user in users { table.revoke(user, at: now) }
            revocations.store(table.epoch.count, ordering: .releasing)
        }
    }

    /// The time by which something is old: what the wall clock and the monotonic clock agree on. Waits for neither.
    public var agreedTime: WallTime { agreed.withLock { $0.advance(clocks) } }

    /// Forgets sessions and revocations whose time is over by both clocks.
    public func forgetEnded() async throws(LedgerUnavailable) {
        let now = agreedTime
        let end = now.adding(-Self.margin)
        table.withLock { $0.forget(before: end) }
        try await ledger.write {
            try $0.keepAgreedTime(now)
            try $0.forgetSessions(before: end)
        }.get()
        try await removeEndedRows()
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
