package import Gateway
package import GatewayCore
internal import GatewayStore
package import Logging

/// Revokes what users were granted: cached password results, sessions, tokens and registrations. If the account has ended,
/// the texts that were sent to it are removed too.
///
/// The order is fixed. First the caches forget the old password, then tokens and sessions end, then the backend
/// registrations are deleted. A login in the meantime is verified by the authenticators in their present state.
package struct UserRevocation: Sendable {
    let sessions: SessionRegister
    let passwordCache: PasswordCache
    let throttle: LoginThrottle
    let sends: IdempotencyStore
    /// The shared register of sends with an idempotency key; nil if `sends` has all.
    let keyedSends: (any KeyedSendRegister)?
    /// The texts of secure sends; nil if there are none.
    let texts: StoredSecureTexts?
    let journal: any Journal
    let sweeper: RegistrationSweeper
    let logger: Logger

    /// Applies the changes of an authenticator's accounts. The revocation comes first; its journal records follow.
    func reconcile(_ changes: AccountChanges, of authenticator: PluginName) async throws(LedgerUnavailable) {
        clearCaches(of: changes)
        async let removed: Void = removeTexts(of: changes.replaced)
        async let forgotten: Void = removeKeyedSends(of: changes.revoked.filter { $1 == .ended }.map(\.key))
        try await sessions.reconcile(changes, of: authenticator)
        await removed
        await forgotten
        sweeper.wake()
        let records = changes.revoked.sorted { $0.key < $1.key }.map { user, reason in
            record(user, reason, authenticator: authenticator)
        }
        if !records.isEmpty {
            logger.notice("Users revoked", metadata: ["users": "\(records.count)"])
        }
        await write(records)
    }

    /// Clears the state in memory about users whose access another gateway of the same store revokes from now on.
    package func followOtherGateways() {
        sessions.clearAfterRevocationElsewhere { [passwordCache, throttle, sweeper] user in
            passwordCache.removeAll(of: user)
            throttle.removeKnownAddresses(of: user)
            sweeper.wake()
        }
    }

    /// Removes what the memory of this gateway keeps of accounts that have ended or have a new password.
    func clearCaches(of changes: AccountChanges) {
        for (user, reason) in changes.revoked { clearCaches(of: user, because: reason) }
    }

    /// Removes the cached password results of accounts whose change is not applied yet, because logins follow the present
    /// lists.
    func removeCachedPasswords(of changes: AccountChanges) {
        for user in changes.revoked.keys { passwordCache.removeAll(of: user) }
    }

    /// Revokes one user whose account has ended, and records it.
    package func revoke(
        _ user: UserName, because reason: AccountEndReason, authenticator: PluginName
    ) async throws(LedgerUnavailable) {
        try await revokeWithoutRecord(user, because: reason)
        logger.notice("User revoked", metadata: ["user": "\(user)", "reason": "\(reason.rawValue)"])
        do throws(JournalUnavailable) {
            try await journal.record([record(user, reason, authenticator: authenticator)])
        } catch {
            logger.error("Revocation of a user could not be recorded", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// Ends the sessions that began with an account and drops its cached password results. The user's registrations
    /// stay.
    func deleteSessions(of account: Account) async throws(LedgerUnavailable) {
        passwordCache.removeAll(of: account.user)
        try await delete(sessions.sessions(of: account.user).filter { $0.account == account }, because: .ended)
        logger.notice("Sessions of an account revoked", metadata: ["user": "\(account.user)"])
    }

    /// Deletes sessions and records each of them.
    package func delete(_ revoked: [Session], because reason: AccountEndReason) async throws(LedgerUnavailable) {
        var records: [JournalRecord] = []
        var fault: LedgerUnavailable?
        for session in revoked {
            do throws(LedgerUnavailable) {
                guard try await sessions.deleteNow(session.id, of: session.user) else { continue }
            } catch {
                // The session has ended in memory even if the ledger cannot be written.
                fault = error
            }
            records.append(record(session.user, reason, authenticator: session.authenticator, session: session.id))
        }
        do throws(JournalUnavailable) {
            if !records.isEmpty { try await journal.record(records) }
        } catch {
            logger.error("Revoked sessions could not be recorded", metadata: ["detail": "\(error.detail)"])
        }
        if let fault { throw fault }
    }

    /// Replaces the groups of the accounts of an authenticator's list. Tokens lose the removed groups at once.
    ///
    /// - Returns: The users that have lost a group. The caller passes them to `recordLostGroups`.
    func replaceGroups(_ groups: [UserName: Set<GroupName>], of authenticator: PluginName) -> Set<UserName> {
        let users = sessions.replaceGroups(groups, of: authenticator)
        // A cached password result contains the groups of its verification.
        for user in users { passwordCache.removeAll(of: user) }
        return users
    }

    /// Updates the groups of one account. Its tokens lose the removed groups at once.
    func recordGroups(_ groups: Set<GroupName>, of account: Account) async {
        guard sessions.recordGroups(groups, of: account) else { return }
        passwordCache.removeAll(of: account.user)
        await recordLostGroups(of: [account.user], account.authenticator)
    }

    /// Logs and records the users that have lost groups.
    func recordLostGroups(of users: Set<UserName>, _ authenticator: PluginName) async {
        if users.isEmpty { return }
        logger.notice("Users removed from groups", metadata: ["users": "\(users.count)"])
        await write(users.sorted().map { record($0, .groupsLost, authenticator: authenticator) })
    }

    /// Writes the records in batches of 1,000, which the journal's queue always has room for.
    private func write(_ records: [JournalRecord]) async {
        for start in stride(from: 0, to: records.count, by: 1000) {
            do throws(JournalUnavailable) {
                try await journal.record(Array(records[start..<min(start + 1000, records.count)]))
            } catch {
                logger.error("Revocation of users could not be recorded", metadata: ["detail": "\(error.detail)"])
            }
        }
    }

    /// Revokes one user without a journal record, which the caller writes.
    func revokeWithoutRecord(_ user: UserName, because reason: AccountEndReason) async throws(LedgerUnavailable) {
        clearCaches(of: user, because: reason)
        async let removed: Void = removeTexts(of: reason == .ended ? [user] : [])
        async let forgotten: Void = removeKeyedSends(of: reason == .ended ? [user] : [])
        try await sessions.revoke(user)
        await removed
        await forgotten
        sweeper.wake()
    }

    /// Removes the texts that were sent to the users. Runs beside the revocation, which must not wait for it. If it fails,
    /// the texts stay until they expire or the name appears anew.
    private func removeTexts(of users: [UserName]) async {
        guard let texts else { return }
        for user in users {
            do throws(LedgerUnavailable) {
                try await texts.removeAll(of: user)
            } catch {
                logger.error(
                    "Texts of an ended account could not be removed",
                    metadata: ["user": "\(user)", "detail": "\(error.detail)"])
            }
        }
    }

    /// Removes the users' sends from the shared register. Runs beside the revocation, which must not wait for it. If it
    /// fails, they stay until they expire.
    private func removeKeyedSends(of users: [UserName]) async {
        guard let keyedSends else { return }
        for user in users {
            do throws(LedgerUnavailable) {
                try await keyedSends.removeAll(of: user)
            } catch {
                logger.error(
                    "Idempotency keys of an ended account could not be removed",
                    metadata: ["user": "\(user)", "detail": "\(error.detail)"])
            }
        }
    }

    /// Removes the user's cached password results and login throttling state. If the account has ended, also removes
    /// its idempotency entries, because a later user with the same name starts without any. Otherwise they stay: a
    /// client that repeats a send after its password has changed must not send twice.
    private func clearCaches(of user: UserName, because reason: AccountEndReason) {
        passwordCache.removeAll(of: user)
        throttle.removeKnownAddresses(of: user)
        switch reason {
        case .ended: sends.removeAll(of: user)
        case .passwordChanged, .groupsLost, .loginTooOld, .byOperator: break
        }
    }

    private func record(
        _ user: UserName, _ reason: AccountEndReason, authenticator: PluginName, session: SessionID? = nil
    ) -> JournalRecord {
        var ids = CallIDGenerator()
        var facts = CallFacts(call: ids.next(), peer: .gateway)
        facts.action = .operatorRevoke
        facts.user = user
        facts.authenticator = authenticator
        facts.session = session
        return JournalRecord(.operator, facts: facts, result: reason.rawValue)
    }
}

extension UserRevocation {
    /// Creates the revocation of a gateway with these stores.
    package init(
        stores: GatewayStores, passwordCache: PasswordCache, throttle: LoginThrottle, sends: IdempotencyStore,
        sweeper: RegistrationSweeper, logger: Logger
    ) {
        self.init(
            sessions: stores.sessions, passwordCache: passwordCache, throttle: throttle, sends: sends,
            keyedSends: stores.keyedSendRegister, texts: stores.texts, journal: stores.journal, sweeper: sweeper,
            logger: logger)
    }
}
