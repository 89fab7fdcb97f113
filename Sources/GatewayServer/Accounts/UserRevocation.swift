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
    let verdicts: VerdictCache
    let throttle: LoginThrottle
    let sends: SendMemory
    let journal: any Journal
    let sweeper: RegistrationSweeper
    let logger: Logger

    /// Settles what became of an authenticator's accounts. The loss comes first, and the record as soon as there can be one.
    func settle(_ changes: AccountChanges, of authenticator: PluginName) async throws(LedgerUnavailable) {
        forget(changes.revoked.keys)
        try await sessions.settle(changes, of: authenticator)
        sweeper.wake()
        let records = changes.revoked.sorted { $0.key < $1.key }.map { user, end in
            record(user, end, authenticator: authenticator)
        }
        if !records.isEmpty {
            logger.notice("Users were revoked", metadata: ["users": "\(records.count)"])
        }
        // So many at a time as the journal surely has room for.
        for start in stride(from: 0, to: records.count, by: 1000) {
            do throws(JournalUnavailable) {
                try await journal.record(Array(records[start..<min(start + 1000, records.count)]))
            } catch {
                logger.error("Revoked users were not recorded", metadata: ["detail": "\(error.detail)"])
            }
        }
    }

    /// Revokes one user, for an account that was found to have ended.
    func revoke(_ user: UserName, because end: AccountEnd, authenticator: PluginName) async throws(LedgerUnavailable) {
        try await takeBack(user)
        logger.notice("A user was revoked", metadata: ["user": "\(user)", "reason": "\(end.rawValue)"])
        do throws(JournalUnavailable) {
            try await journal.record([record(user, end, authenticator: authenticator)])
        } catch {
            logger.error("A revoked user was not recorded", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// Ends the sessions that began with an account, and has its password asked about again. The user's devices stay.
    func endSessions(of account: Account) async throws(LedgerUnavailable) {
        verdicts.forget(account.user)
        var records: [JournalRecord] = []
        var fault: LedgerUnavailable?
        for session in sessions.sessions(of: account.user) where session.account == account {
            do throws(LedgerUnavailable) {
                guard try await sessions.end(session.id, of: account.user) else { continue }
            } catch {
                // In memory it has ended all the same.
                fault = error
            }
            records.append(record(account.user, .ended, authenticator: account.authenticator, session: session.id))
        }
        logger.notice("The sessions of an account were ended", metadata: ["user": "\(account.user)"])
        do throws(JournalUnavailable) {
            if !records.isEmpty { try await journal.record(records) }
        } catch {
            logger.error("Ended sessions were not recorded", metadata: ["detail": "\(error.detail)"])
        }
        if let fault { throw fault }
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
            verdicts.forget(user)
            throttle.forget(user)
            sends.forget(user)
        }
    }

    private func record(
        _ user: UserName, _ end: AccountEnd, authenticator: PluginName, session: SessionID? = nil
    ) -> JournalRecord {
        var ids = CallIDs()
        var facts = CallFacts(call: ids.next(), peer: .gateway)
        facts.action = .operatorRevoke
        facts.user = user
        facts.authenticator = authenticator
        facts.session = session
        return JournalRecord(.operator, facts: facts, result: end.rawValue)
    }
}
