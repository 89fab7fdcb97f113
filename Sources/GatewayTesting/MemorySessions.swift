public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// A session store in memory whose writes can be made to fail.
public final class MemorySessions: SessionStore {
    private struct State {
        var table = SessionTable()
        var failure: LedgerUnavailable?
        var isCurrent = true
    }

    private let clock: ManualClock
    private let state = Mutex(State())

    /// Creates an empty store.
    public init(clock: ManualClock) { self.clock = clock }

    /// Makes writes fail, until it is called with nil.
    public func fail(_ failure: LedgerUnavailable?) { state.withLock { $0.failure = failure } }

    /// Whether the store counts as up to date.
    public var isCurrent: Bool {
        get { state.withLock(\.isCurrent) }
        set { state.withLock { $0.isCurrent = newValue } }
    }

    /// Revokes a user at the current time.
    public func revoke(_ user: UserName) {
        state.withLock { $0.table.revoke(user, at: clock.clocks.wall()) }
    }

    /// Ends a session at the current time.
    public func deleteNow(_ id: SessionID, of user: UserName) { state.withLock { _ = $0.table.delete(id, of: user) } }

    /// Revokes a token at the current time.
    public func revokeNow(token id: String, of user: UserName, until: WallTime) {
        state.withLock { $0.table.revoke(token: id, of: user, until: until) }
    }

    /// Ends the sessions of a login at an identity provider at the current time.
    public func logOutNow(_ logout: ProviderLogout) { state.withLock { _ = $0.table.logOut(logout) } }

    /// The number of users revoked so far.
    public var epoch: RevocationEpoch { state.withLock(\.table.epoch) }

    /// Whether the token has been revoked.
    public func isRevoked(_ token: TokenReference, of user: UserName) -> Bool {
        state.withLock { $0.table.isRevoked(token, of: user) }
    }

    /// Returns the current groups of the token's account.
    public func groups(behind token: TokenReference, of user: UserName) -> Set<GroupName>? {
        state.withLock { $0.table.groups(behind: token, of: user) }
    }

    /// Records the groups of an account.
    public func storeGroups(_ groups: Set<GroupName>, of account: Account) {
        state.withLock { _ = $0.table.groups.record(groups, of: account.user, by: account.authenticator) }
    }

    /// Replaces the groups that an authenticator lists.
    public func list(_ groups: [UserName: Set<GroupName>], of authenticator: PluginName) {
        state.withLock { _ = $0.table.groups.replace(groups, of: authenticator) }
    }

    /// Whether the user has been revoked since the epoch.
    public func wasRevoked(_ user: UserName, since: RevocationEpoch) -> Bool {
        state.withLock { $0.table.wasRevoked(user, since: since) }
    }

    /// Whether the authenticator was withdrawn since the epoch.
    public func wasWithdrawn(_ authenticator: PluginName, since: RevocationEpoch) -> Bool {
        state.withLock { $0.table.wasWithdrawn(authenticator, since: since) }
    }

    /// Withdraws authenticators, as a reload does.
    public func withdraw(_ authenticators: Set<PluginName>) { state.withLock { $0.table.withdraw(authenticators) } }

    /// Whether the login has ended at its identity provider since the epoch.
    public func wasLoggedOut(_ login: ProviderLogin, since: RevocationEpoch) -> Bool {
        state.withLock { $0.table.wasLoggedOut(login, since: since) }
    }

    /// Returns the session if it has not ended.
    public func session(_ id: SessionID) -> Session? {
        state.withLock { $0.table.session(id) }.flatMap { $0.ends > clock.clocks.wall() ? $0 : nil }
    }

    /// Returns the user's sessions.
    public func sessions(of user: UserName) -> [Session] {
        state.withLock { $0.table.sessions(of: user, at: clock.clocks.wall()) }
    }

    /// Adds a session.
    public func start(
        _ session: Session, since: RevocationEpoch, limit: Int
    ) async throws(LedgerUnavailable) -> [Session]? {
        try write { table in
            if table.wasEnded(session, since: since) { return nil }
            let replaced = session.replaced(among: table.all.filter { $0.user == session.user }, limit: limit)
            for ended in replaced { _ = table.delete(ended.id, of: ended.user) }
            table.replace(session.id, by: session)
            return replaced
        }
    }

    /// Records a renewal.
    public func renew(_ id: SessionID) async throws(LedgerUnavailable) -> Bool {
        let now = clock.clocks.wall()
        return try write { $0.renew(id, at: now) }
    }

    /// Ends a session.
    public func delete(_ id: SessionID, of user: UserName) async throws(LedgerUnavailable) -> Bool {
        try write { $0.delete(id, of: user) }
    }

    /// Ends the sessions of a login at an identity provider.
    public func logOut(_ logout: ProviderLogout) async throws(LedgerUnavailable) -> [Session] {
        try write { $0.logOut(logout) }
    }

    /// Revokes a token.
    public func revoke(token id: String, of user: UserName, until: WallTime) async throws(LedgerUnavailable) {
        try write { $0.revoke(token: id, of: user, until: until) }
    }

    private func write<Value: Sendable>(_ body: (inout SessionTable) -> Value) throws(LedgerUnavailable) -> Value {
        let result: Result<Value, LedgerUnavailable> = state.withLock { state in
            if let failure = state.failure { return .failure(failure) }
            return .success(body(&state.table))
        }
        return try result.get()
    }
}
