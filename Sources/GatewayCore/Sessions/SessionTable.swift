public import GatewaySupport

/// The current sessions and revocations in memory. A value, which stores keep behind a lock.
public struct SessionTable: Sendable {
    /// How long a revocation is kept, in seconds: the longest lifetime of a token, and a minute between two clocks.
    public static let revocationLifetime: Int64 = 7 * 86_400 + 60
    /// The maximum number of logouts at identity providers that are kept.
    public static let maximumLogouts = 65_536

    private struct TokenKey: Hashable {
        let user: UserName
        let id: String
    }

    private struct LogoutKey: OwnedKey {
        typealias Owner = SoleOwner
        let issuer: String
        let target: ProviderLogout.Target
    }

    private struct Cutoff {
        var at: WallTime
        var epoch: RevocationEpoch
    }

    private var sessions: [SessionID: Session] = [:]
    private var ofUser: [UserName: Set<SessionID>] = [:]
    private var tokens: [TokenKey: WallTime] = [:]
    private var cutoffs: [UserName: Cutoff] = [:]
    /// The epoch of the latest withdrawal of each authenticator that a reload has removed or replaced.
    private var withdrawals: [PluginName: RevocationEpoch] = [:]
    /// The latest logout of each account and session at an identity provider. A full table forgets the oldest.
    private var logouts = BoundedMap<LogoutKey, Cutoff>(capacity: maximumLogouts)
    /// The sessions and tokens whose revocation is being written, each with the number of calls that write it. They
    /// count as revoked.
    private var sessionsBeingDeleted: [SessionID: Int] = [:]
    private var tokensBeingRevoked: [TokenKey: Int] = [:]
    /// The current revocation epoch.
    public private(set) var epoch = RevocationEpoch(count: 0)

    /// The current groups of accounts.
    public var groups = AccountGroups()

    /// Creates an empty table.
    public init() {}

    /// The number of sessions, including expired ones that were not removed yet.
    public var count: Int { sessions.count }

    /// Returns the session with this id, if there is one.
    public func session(_ id: SessionID) -> Session? { sessions[id] }

    /// All sessions, unordered.
    public var all: [Session] { Array(sessions.values) }

    /// Returns the user's sessions that have not expired, the most recently renewed first.
    public func sessions(of user: UserName, at now: WallTime) -> [Session] {
        (ofUser[user] ?? []).compactMap { sessions[$0] }.filter { $0.ends > now }
            .sorted { ($1.renewed, $1.id.text) < ($0.renewed, $0.id.text) }
    }

    /// Returns whether the token is revoked.
    public func isRevoked(_ token: TokenReference, of user: UserName) -> Bool {
        if let id = token.session {
            guard let session = sessions[id], session.user == user else { return true }
            if !sessionsBeingDeleted.isEmpty, sessionsBeingDeleted[id] != nil { return true }
        } else if let cutoff = cutoffs[user], token.issued <= cutoff.at {
            return true
        }
        if let login = token.provider, logouts.count > 0, isLoggedOut(login, issued: token.issued) { return true }
        // Nearly always empty; the check then saves a hash.
        if tokens.isEmpty, tokensBeingRevoked.isEmpty { return false }
        let key = TokenKey(user: user, id: token.id)
        return tokens[key] != nil || tokensBeingRevoked[key] != nil
    }

    /// Returns the current groups of the token's account; nil if they are unknown.
    public func groups(behind token: TokenReference, of user: UserName) -> Set<GroupName>? {
        guard let id = token.session else { return groups.groups(of: user) }
        guard let session = sessions[id] else { return nil }
        return groups.groups(of: user, by: session.authenticator)
    }

    /// Returns whether the user was revoked after the given epoch.
    public func wasRevoked(_ user: UserName, since: RevocationEpoch) -> Bool {
        guard since < epoch, let cutoff = cutoffs[user] else { return false }
        return since < cutoff.epoch
    }

    /// Returns whether a session that begins now must not: its user was revoked, its authenticator was withdrawn, or its
    /// login ended at the provider, after the given epoch.
    public func wasEnded(_ session: Session, since: RevocationEpoch) -> Bool {
        guard since < epoch else { return false }
        if wasRevoked(session.user, since: since) || wasWithdrawn(session.authenticator, since: since) { return true }
        return session.provider.map { wasLoggedOut($0, since: since) } ?? false
    }

    /// Returns whether the authenticator was removed or replaced after the given epoch.
    public func wasWithdrawn(_ authenticator: PluginName, since: RevocationEpoch) -> Bool {
        guard since < epoch, let withdrawal = withdrawals[authenticator] else { return false }
        return since < withdrawal
    }

    /// Refuses what is still in progress of the logins that these authenticators verified. Sessions stay.
    public mutating func withdraw(_ authenticators: Set<PluginName>) {
        if authenticators.isEmpty { return }
        epoch = RevocationEpoch(count: epoch.count + 1)
        for name in authenticators { withdrawals[name] = epoch }
    }

    /// Returns whether the login has ended at its provider after the given epoch.
    public func wasLoggedOut(_ login: ProviderLogin, since: RevocationEpoch) -> Bool {
        guard since < epoch else { return false }
        return ProviderLogout.targets(of: login).contains { target in
            logouts[LogoutKey(issuer: login.issuer, target: target)].map { since < $0.epoch } ?? false
        }
    }

    /// Returns the time of the user's latest revocation; nil if there was none or it is no longer kept.
    public func cutoff(of user: UserName) -> WallTime? { cutoffs[user]?.at }

    /// Sets a session to its state in the store. Removes no other session of the user.
    ///
    /// - Parameter session: Nil if it has ended.
    public mutating func replace(_ id: SessionID, by session: Session?) {
        guard let session else { return remove(id) }
        sessions[id] = session
        ofUser[session.user, default: []].insert(id)
    }

    /// Records a renewal. Returns false if the session no longer exists.
    public mutating func renew(_ id: SessionID, at now: WallTime) -> Bool {
        guard var session = sessions[id] else { return false }
        session.renewed = now
        sessions[id] = session
        return true
    }

    /// Deletes a session. Returns false if the user has no session with this id.
    public mutating func delete(_ id: SessionID, of user: UserName) -> Bool {
        guard sessions[id]?.user == user else { return false }
        remove(id)
        return true
    }

    /// Marks a session as being deleted. Its tokens count as revoked until `finishDeleting`, which each caller calls once.
    ///
    /// - Returns: False if the user has no session with this id. Nothing is marked then.
    public mutating func beginDeleting(_ id: SessionID, of user: UserName) -> Bool {
        guard sessions[id]?.user == user else { return false }
        sessionsBeingDeleted[id, default: 0] += 1
        return true
    }

    /// Completes `beginDeleting`. If the removal is not on disk, the session stays open, unless another call has closed it.
    public mutating func finishDeleting(_ id: SessionID, of user: UserName, isWritten: Bool) {
        Self.countDown(&sessionsBeingDeleted, id)
        if isWritten { _ = delete(id, of: user) }
    }

    /// Marks one token as being revoked. It counts as revoked until `finishRevoking`, which each caller calls once.
    public mutating func beginRevoking(token id: String, of user: UserName) {
        tokensBeingRevoked[TokenKey(user: user, id: id), default: 0] += 1
    }

    /// Completes `beginRevoking`.
    ///
    /// - Parameter until: When the token expires by itself; nil if the revocation is not on disk, so that the token
    ///   stays valid.
    public mutating func finishRevoking(token id: String, of user: UserName, until: WallTime?) {
        Self.countDown(&tokensBeingRevoked, TokenKey(user: user, id: id))
        if let until { revoke(token: id, of: user, until: until) }
    }

    private static func countDown<Key>(_ counts: inout [Key: Int], _ key: Key) {
        counts[key] = counts[key].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// Revokes one token until it expires by itself. Does not shorten an earlier revocation, because the time may come
    /// from a token whose signature was not verified.
    public mutating func revoke(token id: String, of user: UserName, until: WallTime) {
        let key = TokenKey(user: user, id: id)
        tokens[key] = max(until, tokens[key] ?? until)
    }

    /// Closes all sessions of the user and revokes every token issued to the user up to now.
    public mutating func revoke(_ user: UserName, at now: WallTime) {
        closeSessions(of: user)
        epoch = RevocationEpoch(count: epoch.count + 1)
        // If the clock was set back, keep the later cutoff.
        cutoffs[user] = Cutoff(at: max(now, cutoffs[user]?.at ?? now), epoch: epoch)
    }

    /// Closes all sessions of the user. Revokes no other token.
    public mutating func closeSessions(of user: UserName) { for id in ofUser[user] ?? [] { remove(id) } }

    /// Closes the sessions that the logout ends. Returns them.
    @discardableResult
    public mutating func closeSessions(endedBy logout: ProviderLogout) -> [Session] {
        let ended = sessions.values.filter { $0.provider.map(logout.ends) ?? false }
        for session in ended { remove(session.id) }
        return ended.sorted { $0.id.text < $1.id.text }
    }

    /// Ends the sessions that the logout ends, and refuses the provider's tokens up to its time. Returns the sessions.
    public mutating func logOut(_ logout: ProviderLogout) -> [Session] {
        defer { restore(logout) }
        return closeSessions(endedBy: logout)
    }

    /// Refuses the provider's tokens up to the logout's time. Ends no session: a user may have logged in again since.
    public mutating func restore(_ logout: ProviderLogout) {
        epoch = RevocationEpoch(count: epoch.count + 1)
        for target in logout.targets {
            let key = LogoutKey(issuer: logout.issuer, target: target)
            let latest = max(logout.issued, logouts[key]?.at ?? logout.issued)
            logouts.insert(Cutoff(at: latest, epoch: epoch), for: key)
        }
    }

    private func isLoggedOut(_ login: ProviderLogin, issued: WallTime) -> Bool {
        ProviderLogout.targets(of: login).contains { target in
            guard let logout = logouts[LogoutKey(issuer: login.issuer, target: target)] else { return false }
            // A session id is not used again, so the logout of a session holds for tokens of any time.
            if case .session = target { return true }
            return issued <= logout.at
        }
    }

    /// Removes expired sessions and revocations.
    public mutating func removeExpired(at now: WallTime) {
        for session in sessions.values where session.ends <= now { remove(session.id) }
        tokens = tokens.filter { $0.value > now }
        cutoffs = cutoffs.filter { $0.value.at.seconds + Self.revocationLifetime > now.seconds }
        for entry in logouts.entries where entry.value.at.seconds + Self.revocationLifetime <= now.seconds {
            logouts.remove(entry.key)
        }
    }

    private mutating func remove(_ id: SessionID) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        ofUser[session.user]?.remove(id)
        if ofUser[session.user]?.isEmpty == true { ofUser[session.user] = nil }
    }
}
