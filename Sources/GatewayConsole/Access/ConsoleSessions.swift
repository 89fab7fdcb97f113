internal import Gateway
package import GatewayCore
package import GatewaySupport
internal import Synchronization

/// The sessions of the console, in memory: a restart of the gateway ends them.
///
/// Safe to use from any thread; each function holds the lock for a few instructions.
package final class ConsoleSessions: Sendable {
    /// The time without a request after which a session ends.
    static let idleTime = Duration.seconds(30 * 60)
    /// The time after the login at which a session ends.
    static let lifetime = Duration.seconds(8 * 3600)
    /// The time for which a proof of identity permits changes.
    static let proofTime = Duration.seconds(5 * 60)
    /// The time for which a known status of the account is used.
    static let statusTime = Duration.seconds(60)
    /// The maximum number of sessions of a user. A further one replaces the one that was not used for longest.
    static let maximumOfUser = 5
    /// The maximum number of sessions. A further one replaces the one that was not used for longest.
    static let maximum = 1000

    private let table = Mutex<[SHA256.Digest: ConsoleSession]>([:])
    private let clocks: Clocks
    private let revocations: any SessionStore

    /// Creates an empty table.
    ///
    /// - Parameter revocations: The revocations of users, and their logouts at identity providers, which end their
    ///   sessions.
    package init(clocks: Clocks, revocations: any SessionStore) {
        self.clocks = clocks
        self.revocations = revocations
    }

    /// The current revocation epoch.
    var epoch: RevocationEpoch { revocations.epoch }

    /// Begins a session. Returns it with the value of its cookie; nil if the login was revoked, or its authenticator
    /// withdrawn, since it began.
    func begin(_ login: VerifiedLogin) -> (session: ConsoleSession, cookie: String)? {
        guard !wasEnded(login.identity.user, login.provider, since: login.epoch),
            !revocations.wasWithdrawn(login.identity.authenticator, since: login.epoch)
        else { return nil }
        let cookie = RandomText.make()
        guard let id = Self.id(of: cookie) else { return nil }
        let now = clocks.sinceBoot()
        let session = ConsoleSession(
            id: id, user: login.identity, login: login.login, formToken: RandomText.make(), epoch: login.epoch,
            provider: login.provider, began: now, used: now, proved: now, checked: now)
        table.withLock { table in
            table = table.filter { !isOver($0.value, at: now) }
            let own = table.values.filter { $0.user.user == session.user.user }
            if own.count >= Self.maximumOfUser { Self.removeOldest(of: own, from: &table) }
            if table.count >= Self.maximum { Self.removeOldest(of: Array(table.values), from: &table) }
            table[id] = session
        }
        return (session, cookie)
    }

    /// Returns the session of a cookie; nil if there is none or it has ended.
    ///
    /// - Parameter isUse: Whether the user made the request, so that the session is not idle.
    func find(_ cookie: String, isUse: Bool = true) -> ConsoleSession? {
        guard let id = Self.id(of: cookie) else { return nil }
        let now = clocks.sinceBoot()
        return table.withLock { table in
            guard var session = table[id] else { return nil }
            guard !isOver(session, at: now) else {
                table[id] = nil
                return nil
            }
            if isUse { session.used = now }
            table[id] = session
            return session
        }
    }

    /// Returns a session that is still open, without counting a request; nil if it has ended.
    func session(_ id: SHA256.Digest) -> ConsoleSession? {
        let now = clocks.sinceBoot()
        return table.withLock { table in table[id].flatMap { isOver($0, at: now) ? nil : $0 } }
    }

    /// Ends a session.
    func end(_ id: SHA256.Digest) { table.withLock { $0[id] = nil } }

    /// Records that the user of a session has proved again who they are.
    func prove(_ id: SHA256.Digest) {
        let now = clocks.sinceBoot()
        table.withLock { $0[id]?.proved = now }
    }

    /// Sets the sentence that the next page of the session shows.
    func setNotice(_ text: String, in id: SHA256.Digest) { table.withLock { $0[id]?.notice = text } }

    /// Returns the sentence that a page is to show, once; nil if there is none.
    func takeNotice(of id: SHA256.Digest) -> String? {
        table.withLock { table in
            defer { table[id]?.notice = nil }
            return table[id]?.notice
        }
    }

    /// Records that the user of a session has proved again at the identity provider who they are.
    ///
    /// - Returns: Whether there is such a session, and it is that user's.
    func prove(_ id: SHA256.Digest, by login: VerifiedLogin) -> Bool {
        let now = clocks.sinceBoot()
        return table.withLock { table in
            guard var session = table[id], session.user.user == login.identity.user, !isOver(session, at: now),
                !revocations.wasWithdrawn(login.identity.authenticator, since: login.epoch)
            else { return false }
            (session.user, session.provider, session.proved) = (login.identity, login.provider, now)
            session.notice = "You have proved who you are. Make the change again."
            table[id] = session
            return true
        }
    }

    /// Whether the user proved recently enough who they are to make a change.
    func isProved(_ session: ConsoleSession) -> Bool {
        clocks.sinceBoot().nanoseconds - session.proved.nanoseconds < Self.proofTime.nanoseconds
    }

    /// Returns whether the status of the session's account must be determined again.
    func needsStatus(_ session: ConsoleSession) -> Bool {
        clocks.sinceBoot().nanoseconds - session.checked.nanoseconds >= Self.statusTime.nanoseconds
    }

    /// Records the status of the session's account. An ended account ends the session.
    ///
    /// - Parameter status: The status; nil if it can be determined only at a login.
    /// - Returns: The session with its current groups; nil if it has ended.
    func record(_ status: AccountStatus?, of session: ConsoleSession) -> ConsoleSession? {
        let now = clocks.sinceBoot()
        return table.withLock { table in
            guard var current = table[session.id] else { return nil }
            switch status {
            case .ended:
                table[session.id] = nil
                return nil
            case .valid(let groups):
                current.user = Identity(
                    user: current.user.user, groups: groups, authenticator: current.user.authenticator)
            case .unknown, nil: break
            }
            current.checked = now
            table[session.id] = current
            return current
        }
    }

    /// The number of sessions.
    var count: Int { table.withLock(\.count) }

    private func isOver(_ session: ConsoleSession, at now: MonotonicInstant) -> Bool {
        now.nanoseconds - session.used.nanoseconds >= Self.idleTime.nanoseconds
            || now.nanoseconds - session.began.nanoseconds >= Self.lifetime.nanoseconds
            || wasEnded(session.user.user, session.provider, since: session.epoch)
    }

    /// Returns whether the user was revoked, or logged out at the identity provider, after the epoch.
    private func wasEnded(_ user: UserName, _ provider: ProviderLogin?, since epoch: RevocationEpoch) -> Bool {
        revocations.wasRevoked(user, since: epoch)
            || provider.map { revocations.wasLoggedOut($0, since: epoch) } ?? false
    }

    private static func removeOldest(
        of sessions: [ConsoleSession], from table: inout [SHA256.Digest: ConsoleSession]
    ) {
        if let oldest = sessions.min(by: { $0.used < $1.used }) { table[oldest.id] = nil }
    }

    private static func id(of cookie: String) -> SHA256.Digest? {
        guard cookie.utf8.count == RandomText.length else { return nil }
        return Array(cookie.utf8).withUnsafeBytes { SHA256.Digest(of: $0) }
    }
}

/// Text that cannot be guessed.
enum RandomText {
    /// The number of characters.
    static let length = 43

    /// Returns 256 random bits of the system in base64url.
    static func make() -> String { String(decoding: Base64.encode(RandomBytes.make(32), .url), as: UTF8.self) }

    /// Returns whether both texts are equal, in a time that depends only on their lengths.
    static func equal(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension Duration {
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
