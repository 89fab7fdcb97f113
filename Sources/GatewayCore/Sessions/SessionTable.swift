/// Sessions and revocations as they stand, in memory: a value, for stores to keep behind a lock.
public struct SessionTable: Sendable {
    /// How many sessions a user may have; the one renewed longest ago goes for a new one.
    public static let mostSessions = 20
    /// How long a revocation matters, in seconds: no token is good for longer, and clocks are a minute apart at most.
    public static let memory: Int64 = 7 * 86_400 + 60

    private struct TokenKey: Hashable {
        let user: UserName
        let id: String
    }

    private struct Cutoff {
        var at: WallTime
        var epoch: RevocationEpoch
    }

    private var sessions: [SessionID: Session] = [:]
    private var ofUser: [UserName: Set<SessionID>] = [:]
    private var tokens: [TokenKey: WallTime] = [:]
    private var cutoffs: [UserName: Cutoff] = [:]
    /// The sessions and tokens that are being ended, each with the number of calls that do so. They count as revoked.
    private var endingSessions: [SessionID: Int] = [:]
    private var endingTokens: [TokenKey: Int] = [:]
    /// Counts the revocations of users.
    public private(set) var epoch = RevocationEpoch(count: 0)

    /// The groups that accounts are in now.
    public var groups = AccountGroups()

    /// A table of nothing.
    public init() {}

    /// How many sessions there are, those included whose time is over and that nobody has looked at since.
    public var count: Int { sessions.count }

    /// The session, if there is one.
    public func session(_ id: SessionID) -> Session? { sessions[id] }

    /// All sessions, in no order.
    public var all: [Session] { Array(sessions.values) }

    /// The user's sessions that have not ended by themselves, the one renewed last first.
    public func sessions(of user: UserName, at now: WallTime) -> [Session] {
        (ofUser[user] ?? []).compactMap { sessions[$0] }.filter { $0.ends > now }
            .sorted { ($1.renewed, $1.id.text) < ($0.renewed, $0.id.text) }
    }

    /// Whether a token is of no more worth.
    public func isRevoked(_ token: TokenReference, of user: UserName) -> Bool {
        if let id = token.session {
            guard let session = sessions[id], session.user == user else { return true }
            if !endingSessions.isEmpty, endingSessions[id] != nil { return true }
        } else if let cutoff = cutoffs[user], token.issued <= cutoff.at {
            return true
        }
        // Empty nearly always, and then not worth a hash.
        if tokens.isEmpty, endingTokens.isEmpty { return false }
        let key = TokenKey(user: user, id: token.id)
        return tokens[key] != nil || endingTokens[key] != nil
    }

    /// The groups that the token's account is in now; nil where no authenticator tells.
    public func groups(behind token: TokenReference, of user: UserName) -> Set<GroupName>? {
        guard let id = token.session else { return groups.groups(of: user) }
        guard let session = sessions[id] else { return nil }
        return groups.groups(of: user, by: session.authenticator)
    }

    /// Whether the user has been revoked since.
    public func wasRevoked(_ user: UserName, since: RevocationEpoch) -> Bool {
        guard since < epoch, let cutoff = cutoffs[user] else { return false }
        return since < cutoff.epoch
    }

    /// When the user was revoked last; nil where that is forgotten or never was.
    public func cutoff(of user: UserName) -> WallTime? { cutoffs[user]?.at }

    /// Adds a session; the answer are those of the user's that had to go for it.
    public mutating func add(_ session: Session) -> [SessionID] {
        let rest = sessions(of: session.user, at: session.began)
        var gone = (ofUser[session.user] ?? []).subtracting(rest.map(\.id))
        gone.formUnion(rest.dropFirst(Self.mostSessions - 1).map(\.id))
        for id in gone { remove(id) }
        sessions[session.id] = session
        ofUser[session.user, default: []].insert(session.id)
        return gone.sorted { $0.text < $1.text }
    }

    /// Notes a renewal; false where there is no such session any more.
    public mutating func renew(_ id: SessionID, at now: WallTime) -> Bool {
        guard var session = sessions[id] else { return false }
        session.renewed = now
        sessions[id] = session
        return true
    }

    /// Ends a session; false where the user has none of the id.
    public mutating func end(_ id: SessionID, of user: UserName) -> Bool {
        guard sessions[id]?.user == user else { return false }
        remove(id)
        return true
    }

    /// Begins to end a session: its tokens count as revoked until `finishEnding`, which each caller calls once.
    ///
    /// - Returns: false where the user has no session of the id; nothing has begun then.
    public mutating func beginEnding(_ id: SessionID, of user: UserName) -> Bool {
        guard sessions[id]?.user == user else { return false }
        endingSessions[id, default: 0] += 1
        return true
    }

    /// Finishes what `beginEnding` began.
    ///
    /// - Parameter isWritten: whether the end is on disk. If not, the session is as it was, unless another call has ended it.
    public mutating func finishEnding(_ id: SessionID, of user: UserName, isWritten: Bool) {
        Self.countDown(&endingSessions, id)
        if isWritten { _ = end(id, of: user) }
    }

    /// Begins to take one token back: it counts as revoked until `finishRevoking`, which each caller calls once.
    public mutating func beginRevoking(token id: String, of user: UserName) {
        endingTokens[TokenKey(user: user, id: id), default: 0] += 1
    }

    /// Finishes what `beginRevoking` began.
    ///
    /// - Parameter until: when the token has ended by itself; nil where the revocation is not on disk, and the token is as it was.
    public mutating func finishRevoking(token id: String, of user: UserName, until: WallTime?) {
        Self.countDown(&endingTokens, TokenKey(user: user, id: id))
        if let until { revoke(token: id, of: user, until: until) }
    }

    private static func countDown<Key>(_ counts: inout [Key: Int], _ key: Key) {
        counts[key] = counts[key].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// Takes one token back until it has ended by itself.
    public mutating func revoke(token id: String, of user: UserName, until: WallTime) {
        tokens[TokenKey(user: user, id: id)] = until
    }

    /// Ends all sessions of the user, and takes back every token of theirs that was issued up to now.
    public mutating func revoke(_ user: UserName, at now: WallTime) {
        for id in ofUser[user] ?? [] { remove(id) }
        epoch = RevocationEpoch(count: epoch.count + 1)
        // A clock that was set back takes nothing back.
        cutoffs[user] = Cutoff(at: max(now, cutoffs[user]?.at ?? now), epoch: epoch)
    }

    /// Forgets what matters to nobody any more: sessions and revocations whose time is over.
    public mutating func forget(before now: WallTime) {
        for session in sessions.values where session.ends <= now { remove(session.id) }
        tokens = tokens.filter { $0.value > now }
        cutoffs = cutoffs.filter { $0.value.at.seconds + Self.memory > now.seconds }
    }

    private mutating func remove(_ id: SessionID) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        ofUser[session.user]?.remove(id)
        if ofUser[session.user]?.isEmpty == true { ofUser[session.user] = nil }
    }
}

/// A count of revoked users: what was begun at one epoch and ends at a later one may have been overtaken by a revocation.
public struct RevocationEpoch: Sendable, Hashable, Comparable {
    /// How many users had been revoked since the start.
    public let count: UInt64

    /// An epoch; stores make them.
    public init(count: UInt64) { self.count = count }

    /// Earlier is less.
    public static func < (left: RevocationEpoch, right: RevocationEpoch) -> Bool { left.count < right.count }
}
