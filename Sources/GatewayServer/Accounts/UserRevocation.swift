internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import Logging

/// Takes back what users were granted: remembered passwords, sessions, tokens, registrations.
///
/// In this order: nobody remembers the old password any more, then tokens and sessions end, then registrations are deleted at
/// the backend. Whoever logs in meanwhile is judged by what the authenticators say now.
struct UserRevocation: Sendable {
    let sessions: SessionRegister
    let passwordCache: PasswordCache
    let throttle: LoginThrottle
    let sends: IdempotencyStore
    let journal: any Journal
    let sweeper: RegistrationSweeper
    let logger: Logger

    /// Settles what became of an authenticator's accounts. The loss comes first, and the record as soon as there can be one.
    func reconcile(_ changes: AccountChanges, of authenticator: PluginName) async throws(LedgerUnavailable) {
        forget(changes.revoked.keys)
        try await sessions.reconcile(changes, of: authenticator)
        sweeper.wake()
        let records = changes.revoked.sorted { $0.key < $1.key }.map { user, end in
            record(user, end, authenticator: authenticator)
        }
        if !records.isEmpty {
            logger.notice("Users revoked", metadata: ["users": "\(records.count)"])
        }
        await write(records)
    }

    /// Revokes one user, for an account that was found to have ended.
    func revoke(
        _ user: UserName, because end: AccountEndReason, authenticator: PluginName
    ) async throws(LedgerUnavailable) {
        try await takeBack(user)
        logger.notice("User revoked", metadata: ["user": "\(user)", "reason": "\(end.rawValue)"])
        do throws(JournalUnavailable) {
            try await journal.record([record(user, end, authenticator: authenticator)])
        } catch {
            logger.error("Revocation of a user could not be recorded", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// Ends the sessions that began with an account, and has its password asked about again. The user's devices stay.
    func endSessions(of account: Account) async throws(LedgerUnavailable) {
        passwordCache.forget(account.user)
        try await end(sessions.sessions(of: account.user).filter { $0.account == account }, because: .ended)
        logger.notice("Sessions of an account revoked", metadata: ["user": "\(account.user)"])
    }

    /// Ends sessions, and records each.
    func end(_ ending: [Session], because end: AccountEndReason) async throws(LedgerUnavailable) {
        var records: [JournalRecord] = []
        var fault: LedgerUnavailable?
        for session in ending {
            do throws(LedgerUnavailable) {
                guard try await sessions.endAtOnce(session.id, of: session.user) else { continue }
            } catch {
                // In memory it has ended all the same.
                fault = error
            }
            records.append(record(session.user, end, authenticator: session.authenticator, session: session.id))
        }
        do throws(JournalUnavailable) {
            if !records.isEmpty { try await journal.record(records) }
        } catch {
            logger.error("Revoked sessions could not be recorded", metadata: ["detail": "\(error.detail)"])
        }
        if let fault { throw fault }
    }

    /// Has tokens lose the groups that the accounts of an authenticator's list have lost, at once.
    ///
    /// - Returns: who has lost one; `recordLostGroups` follows.
    func replaceGroups(_ groups: [UserName: Set<GroupName>], of authenticator: PluginName) -> Set<UserName> {
        let users = sessions.replaceGroups(groups, of: authenticator)
        // A remembered password stands for the groups that it was found with.
        for user in users { passwordCache.forget(user) }
        return users
    }

    /// Has the tokens of one account lose the groups that it has lost, at once.
    func noteGroups(_ groups: Set<GroupName>, of account: Account) async {
        guard sessions.noteGroups(groups, of: account) else { return }
        passwordCache.forget(account.user)
        await recordLostGroups(of: [account.user], account.authenticator)
    }

    /// Writes down who has lost groups.
    func recordLostGroups(of users: Set<UserName>, _ authenticator: PluginName) async {
        if users.isEmpty { return }
        logger.notice("Users removed from groups", metadata: ["users": "\(users.count)"])
        await write(users.sorted().map { record($0, .groupsLost, authenticator: authenticator) })
    }

    /// Writes the records, so many at a time as the journal surely has room for.
    private func write(_ records: [JournalRecord]) async {
        for start in stride(from: 0, to: records.count, by: 1000) {
            do throws(JournalUnavailable) {
                try await journal.record(Array(records[start..<min(start + 1000, records.count)]))
            } catch {
                logger.error("Revocation of users could not be recorded", metadata: ["detail": "\(error.detail)"])
            }
        }
    }

    /// Takes back what one user was granted; the record is the caller's.
    func takeBack(_ user: UserName) async throws(LedgerUnavailable) {
        forget(CollectionOfOne(user))
        try await sessions.revoke(user)
        sweeper.wake()
    }

    /// Forgets what was said of the users' passwords, where they came from, and what they have sent.
    private func forget(_ users: some Sequence<UserName>) {
        for user in users {
            passwordCache.forget(user)
            throttle.forget(user)
            sends.forget(user)
        }
    }

    private func record(
        _ user: UserName, _ end: AccountEndReason, authenticator: PluginName, session: SessionID? = nil
    ) -> JournalRecord {
        var ids = CallIDGenerator()
        var facts = CallFacts(call: ids.next(), peer: .gateway)
        facts.action = .operatorRevoke
        facts.user = user
        facts.authenticator = authenticator
        facts.session = session
        return JournalRecord(.operator, facts: facts, result: end.rawValue)
    }
}
