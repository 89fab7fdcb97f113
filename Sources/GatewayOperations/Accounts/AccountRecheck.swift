package import Gateway
internal import GatewayCore
package import GatewayStore
package import GatewaySupport
package import Logging
internal import ServiceLifecycle

/// The service that queries the status of every account with a session or a registration, every ten minutes.
///
/// It covers accounts whose status changes without a change of a watched file, for example an account that PAM locks or
/// expires. An account has *ended* if its authenticator reports that it was removed or disabled, or that it has
/// expired.
///
/// One at a time of the gateways that share a store ends grants. The others query the status of accounts with a session too,
/// but only to update the groups in their memory, which tokens depend on.
package struct AccountRecheck: Service {
    let sessions: SessionRegister
    let chain: HotSwappable<AuthenticatorChain>
    let revocation: UserRevocation
    /// The rules that limit how long sessions and registrations of accounts without status last.
    let authentication: HotSwappable<AuthenticationRules>
    /// The tasks of gateways that share the store, and the agreement on their account lists; nil for a gateway with a store
    /// of its own.
    let sharing: (any TaskLeases & AccountAgreement)?
    /// The ends that wait for an operator.
    let massEnds: MassEnds
    let logger: Logger
    var period = Duration.seconds(600)
    /// Waits before the accounts whose authenticator was busy are queried again. Returns whether the recheck goes on.
    var pause: @Sendable (Duration) async -> Bool = { (try? await Task.sleep(for: $0)) != nil }
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    /// Yields a value when authenticators may have been removed.
    private let removals: AsyncStream<Void>
    private let removal: AsyncStream<Void>.Continuation

    package init(
        chain: HotSwappable<AuthenticatorChain>, revocation: UserRevocation,
        authentication: HotSwappable<AuthenticationRules> = HotSwappable(AuthenticationRules()),
        sharing: (any TaskLeases & AccountAgreement)? = nil, massEnds: MassEnds = MassEnds(), logger: Logger
    ) {
        sessions = revocation.sessions
        self.chain = chain
        self.revocation = revocation
        self.authentication = authentication
        self.sharing = sharing
        self.massEnds = massEnds
        self.logger = logger
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (removals, removal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Starts a recheck of all accounts now. Called when the configured authenticators have changed.
    package func wake() {
        removal.yield()
        wakeUp.yield()
    }

    /// The number of accounts that are queried at once. It is small because logins need the same workers.
    private static let maximumConcurrent = 2

    /// The pause before accounts are queried again whose authenticator was busy. It doubles up to the longest one.
    static let firstPause = Duration.seconds(1)
    static let longestPause = Duration.seconds(64)

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask {
                    while (try? await Task.sleep(for: period)) != nil { wakeUp.yield() }
                    wakeUp.finish()
                    removal.finish()
                }
                // Beside the recheck, which may wait for user directories.
                tasks.addTask { for await _ in removals where await hasTask() { await endUnconfigured() } }
                tasks.addTask {
                    var suspects: Set<Account> = []
                    // This queries no authenticator and therefore does not wait for user directories that start at the
                    // same time.
                    if await hasTask() {
                        await endUnconfigured()
                        await expireOldGrants()
                    }
                    for await _ in wakeUps {
                        guard await hasTask() else {
                            suspects = []
                            // The gateway that has the task now finds out itself, and asks its operator.
                            massEnds.keep { if case .recheck = $0 { false } else { true } }
                            await updateGroups()
                            continue
                        }
                        await recheckAccounts(&suspects)
                        await expireOldGrants()
                    }
                }
            }
        }
    }

    /// Queries every account that has a session or a registration once. Sessions of ended accounts end at once.
    /// Registrations are deleted only if a second recheck confirms the first, because a device registers again only
    /// when somebody opens the app.
    ///
    /// - Parameter suspects: The accounts that had ended for the first time at the previous recheck. On return, those
    ///   that had ended for the first time at this one.
    func recheckAccounts(_ suspects: inout Set<Account>) async {
        // One chain for the whole recheck: the authenticators of another configuration say nothing about these
        // accounts.
        let chain = chain.value
        await endUnconfigured()
        let withSession = Set(sessions.allSessions.map(\.account))
        let accounts = withSession.union(await registeringAccounts(chain)).union(suspects)
        let found = await queryStatus(accounts, chain)
        // A cancelled recheck has seen only some of the accounts, and nothing follows from that.
        guard !Task.isCancelled else { return }
        sessions.keepRecordedGroups(of: accounts)
        var ending = withSession.intersection(found.ended.keys)
        // A disabled account may be so for an hour or an address only, and a user with another good account still
        // exists.
        var deletable = Set(
            found.ended.filter { account, reason in
                reason != .disabled && !found.good.contains(account.user)
                    && chain.requiresRecheck(account.authenticator)
            }.keys)
        // The other accounts ended by an account list or by the configuration, which is certain.
        let uncertain = ending.union(deletable).filter { chain.requiresRecheck($0.authenticator) }
        // Another gateway may have the accounts in its lists or in its configuration.
        if await !hasAgreement() {
            ending.formIntersection(uncertain)
            deletable.formIntersection(uncertain)
        }
        ending.subtract(await decidedByLists(ending.subtracting(uncertain)))
        let rechecked = accounts.filter { chain.requiresRecheck($0.authenticator) }
        let held = uncertain.subtracting(admitted(uncertain, besides: found.good, of: rechecked))
        ending.subtract(held)
        deletable.subtract(held)
        for account in ending {
            await revokeIfStillEnded(account, alsoIfDenied: true) { revocation throws(LedgerUnavailable) in
                try await revocation.deleteSessions(of: account)
            }
        }
        // The word of an operator stands for the second recheck.
        let confirmed = deletable.filter {
            suspects.contains($0) || massEnds.isConfirmed($0.user, by: $0.authenticator)
        }
        for account in confirmed {
            await revokeIfStillEnded(account, alsoIfDenied: false) { revocation throws(LedgerUnavailable) in
                try await revocation.revoke(account.user, because: .ended, authenticator: account.authenticator)
            }
        }
        suspects = deletable.subtracting(confirmed)
        await removeExpired()
    }

    /// Removes expired sessions from memory and from the ledger.
    func removeExpired() async {
        do throws(LedgerUnavailable) {
            try await sessions.removeExpired()
        } catch {
            logger.error("Ended sessions could not be removed", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// Ends the sessions of authenticators that are no longer configured. Queries nothing, so it does not wait for a recheck
    /// in progress. Another gateway may have these authenticators.
    package func endUnconfigured() async {
        let chain = chain.value
        let accounts = Set(sessions.allSessions.map(\.account)).filter { !chain.contains($0.authenticator) }
        guard !accounts.isEmpty, await hasAgreement() else { return }
        for account in accounts {
            await revokeIfStillEnded(account, alsoIfDenied: true) { revocation throws(LedgerUnavailable) in
                try await revocation.deleteSessions(of: account)
            }
        }
    }

    /// Returns the accounts that may end now. Logs an error if others of the same authenticator wait.
    private func admitted(
        _ ended: Set<Account>, besides good: Set<UserName>, of accounts: Set<Account>
    ) -> Set<Account> {
        let endedUsers = Dictionary(grouping: ended, by: \.authenticator).mapValues { Set($0.map(\.user)) }
        var admitted: Set<Account> = []
        for (name, accounts) in Dictionary(grouping: accounts, by: \.authenticator) {
            let (users, count) = (endedUsers[name] ?? [], Set(accounts.map(\.user)).count)
            let mayEnd = massEnds.admit(users, besides: good, of: count, from: .recheck(name))
            if mayEnd.count < users.count {
                logger.tooManyEnded(users.subtracting(mayEnd), of: count, by: name)
            }
            admitted.formUnion(ended.filter { $0.authenticator == name && mayEnd.contains($0.user) })
        }
        return admitted
    }

    /// Returns those of the accounts that an account list still had at its last comparison. The next one decides about
    /// them (`AccountMonitor`): a reload may be between the list and its comparison.
    private func decidedByLists(_ ended: Set<Account>) async -> Set<Account> {
        var decided: Set<Account> = []
        for (name, accounts) in Dictionary(grouping: ended, by: \.authenticator) {
            do throws(LedgerUnavailable) {
                let known = try await sessions.accounts(of: name)
                decided.formUnion(accounts.filter { known[$0.user] != nil })
            } catch {
                logger.error("Listed accounts could not be read", metadata: ["detail": "\(error.detail)"])
                decided.formUnion(accounts)
            }
        }
        return decided
    }

    /// Returns the accounts that have registrations. Accounts of an authenticator that is no longer configured are left
    /// out: their status cannot be queried, and the next registration states the new authenticator.
    func registeringAccounts(_ chain: AuthenticatorChain) async -> [Account] {
        do throws(LedgerUnavailable) {
            return try await sessions.registeringAccounts().filter { chain.requiresRecheck($0.authenticator) }
        } catch {
            logger.error("Registered accounts could not be listed", metadata: ["detail": "\(error.detail)"])
            return []
        }
    }

    /// The results of queries.
    struct Found {
        /// The accounts that have ended, with the reason.
        var ended: [Account: InvalidCredentialReason] = [:]
        /// The users of the accounts that are good.
        var good: Set<UserName> = []
        /// The accounts whose authenticator was busy.
        var busy: Set<Account> = []
        /// The number of other accounts whose status is unknown.
        var unknown = 0
    }

    /// Queries the accounts. Those whose authenticator is busy are queried again after a pause, because an ended account
    /// keeps what it has until its status is known.
    func queryStatus(_ accounts: Set<Account>, _ chain: AuthenticatorChain) async -> Found {
        var found = Found()
        await query(accounts, chain, &found)
        var delay = Self.firstPause
        while !found.busy.isEmpty, !Task.isCancelled, delay <= Self.longestPause, await pause(delay) {
            let busy = found.busy
            found.busy = []
            await query(busy, chain, &found)
            delay *= 2
        }
        let unknown = found.unknown + found.busy.count
        if unknown > 0 {
            logger.warning(
                "Status of some accounts is unknown",
                metadata: ["unknown": "\(unknown)", "of": "\(accounts.count)"])
        }
        return found
    }

    private func query(_ accounts: Set<Account>, _ chain: AuthenticatorChain, _ found: inout Found) async {
        await withTaskGroup(of: (Account, AccountStatus?).self) { tasks in
            var rest = accounts.makeIterator()
            func queryNext() {
                if let account = rest.next() {
                    tasks.addTask { (account, await chain.status(of: account, for: .recheck)) }
                }
            }
            for _ in 0..<Self.maximumConcurrent { queryNext() }
            while let (account, status) = await tasks.next(), !Task.isCancelled {
                switch status {
                case .ended(let reason): found.ended[account] = reason
                case .valid(let groups):
                    found.good.insert(account.user)
                    if chain.requiresRecheck(account.authenticator) {
                        await revocation.recordGroups(groups, of: account)
                    }
                case .unknown(.busy): found.busy.insert(account)
                case .unknown: found.unknown += 1
                case nil: break
                }
                queryNext()
            }
        }
    }

    /// Runs `revoke` if the account's status is still ended. A recheck of many accounts takes time, in which a status
    /// can change.
    private func revokeIfStillEnded(
        _ account: Account, alsoIfDenied: Bool, _ revoke: (UserRevocation) async throws(LedgerUnavailable) -> Void
    ) async {
        guard case .ended(let reason) = await chain.value.status(of: account, for: .recheck),
            alsoIfDenied || reason != .disabled
        else { return }
        do throws(LedgerUnavailable) {
            try await revoke(revocation)
        } catch {
            logger.error(
                "Revocation could not be recorded; it lasts until the next start",
                metadata: ["user": "\(account.user)", "detail": "\(error.detail)"])
        }
    }
}
