internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import Logging
internal import ServiceLifecycle

/// Looks every ten minutes at the accounts that sessions began with and that registrations were made by: one that PAM has locked
/// or let expire has no file whose change would tell.
struct AccountRecheck: Service {
    let sessions: SessionRegister
    let chain: HotSwappable<AuthenticatorChain>
    let revocation: UserRevocation
    /// How long what accounts without status were granted lasts.
    let authentication: HotSwappable<AuthenticationRules>
    let logger: Logger
    var period = Duration.seconds(600)
    private let looks: AsyncStream<Void>
    private let look: AsyncStream<Void>.Continuation

    init(
        sessions: SessionRegister, chain: HotSwappable<AuthenticatorChain>, revocation: UserRevocation,
        authentication: HotSwappable<AuthenticationRules> = HotSwappable(AuthenticationRules()), logger: Logger
    ) {
        self.sessions = sessions
        self.chain = chain
        self.revocation = revocation
        self.authentication = authentication
        self.logger = logger
        (looks, look) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has all accounts looked at now: other authenticators are configured.
    func wake() { look.yield() }

    /// How many accounts are looked at at once: logins need the workers too.
    private static let atOnce = 2

    /// So many users may end at once, or a tenth of all. More of them are taken for a directory that has forgotten its users.
    private static let maximumEndingTogether = 10

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask {
                    while (try? await Task.sleep(for: period)) != nil { look.yield() }
                    look.finish()
                }
                tasks.addTask {
                    var suspects: Set<Account> = []
                    // Asks nobody, so that it need not wait for directories that start beside the gateway.
                    await endOldGrants()
                    for await _ in looks {
                        await review(&suspects)
                        await endOldGrants()
                    }
                }
            }
        }
    }

    /// Looks at every account that has a session or a registration, once. Then the sessions end that began with one that has ended;
    /// devices are deleted after a second look that says the same, since they do not come back before somebody opens the app.
    ///
    /// - Parameter suspects: the accounts whose users' devices are deleted if they have still ended.
    func review(_ suspects: inout Set<Account>) async {
        // One for the whole look: of another configuration's authenticators nothing follows for these accounts.
        let chain = chain.value
        let withSession = Set(sessions.allSessions.map(\.account))
        let accounts = withSession.union(await registeringAccounts(chain)).union(suspects)
        let found = await lookAt(accounts, chain)
        // Nothing can be concluded from a part of them.
        guard !Task.isCancelled else { return }
        sessions.keepNotedGroups(of: accounts)
        var ending = withSession.intersection(found.ended.keys)
        // Who is denied may be so for the hour or the place, and who has another account that is good is still somebody.
        var deletable = Set(
            found.ended.filter { account, reason in
                reason != .disabled && !found.good.contains(account.user)
                    && chain.requiresRecheck(account.authenticator)
            }.keys)
        // Others have ended by a list, or by the configuration.
        let seeming = ending.union(deletable).filter { chain.requiresRecheck($0.authenticator) }
        if !isPlausible(seeming, of: accounts.filter { chain.requiresRecheck($0.authenticator) }) {
            ending.subtract(seeming)
            deletable = []
        }
        for account in ending {
            await act(on: account, alsoIfDenied: true) { revocation throws(LedgerUnavailable) in
                try await revocation.endSessions(of: account)
            }
        }
        for account in deletable.intersection(suspects) {
            await act(on: account, alsoIfDenied: false) { revocation throws(LedgerUnavailable) in
                try await revocation.revoke(account.user, because: .ended, authenticator: account.authenticator)
            }
        }
        suspects = deletable.subtracting(suspects)
        do throws(LedgerUnavailable) {
            try await sessions.forgetEnded()
        } catch {
            logger.error("Ended sessions could not be removed", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// Whether so many users can have ended since the look before.
    private func isPlausible(_ ended: Set<Account>, of accounts: Set<Account>) -> Bool {
        let (ended, all) = (Set(ended.map(\.user)), Set(accounts.map(\.user)))
        guard ended.count > max(Self.maximumEndingTogether, all.count / 10) else { return true }
        let some = ended.sorted().prefix(20).map(\.text).joined(separator: " ")
        logger.error(
            "Too many accounts ended at once; nothing revoked, check the user directory",
            metadata: ["ended": "\(ended.count)", "of": "\(all.count)", "among-them": "\(some)"])
        return false
    }

    /// The accounts that registrations were made by. Whose authenticator is no longer configured keeps them: nobody can say any
    /// more how the account stands, and the next registration tells who vouches now.
    private func registeringAccounts(_ chain: AuthenticatorChain) async -> [Account] {
        do throws(LedgerUnavailable) {
            return try await sessions.registeringAccounts().filter { chain.requiresRecheck($0.authenticator) }
        } catch {
            logger.error("Registered accounts could not be listed", metadata: ["detail": "\(error.detail)"])
            return []
        }
    }

    /// Those of the accounts that have ended, and why, and the users of those that are good.
    private func lookAt(
        _ accounts: Set<Account>, _ chain: AuthenticatorChain
    ) async -> (ended: [Account: InvalidCredentialReason], good: Set<UserName>) {
        var ended: [Account: InvalidCredentialReason] = [:]
        var good: Set<UserName> = []
        var unknown = 0
        await withTaskGroup(of: (Account, AccountStatus?).self) { tasks in
            var rest = accounts.makeIterator()
            func lookAtNext() {
                if let account = rest.next() { tasks.addTask { (account, await chain.status(of: account)) } }
            }
            for _ in 0..<Self.atOnce { lookAtNext() }
            while let (account, status) = await tasks.next(), !Task.isCancelled {
                switch status {
                case .ended(let reason): ended[account] = reason
                case .good(let groups):
                    good.insert(account.user)
                    if chain.requiresRecheck(account.authenticator) {
                        await revocation.noteGroups(groups, of: account)
                    }
                case .unknown: unknown += 1
                case nil: break
                }
                lookAtNext()
            }
        }
        if unknown > 0 {
            logger.warning(
                "Status of some accounts is unknown",
                metadata: ["unknown": "\(unknown)", "of": "\(accounts.count)"])
        }
        return (ended, good)
    }

    /// Takes something back, if the account has still ended: looks at many take their time.
    private func act(
        on account: Account, alsoIfDenied: Bool, _ takeBack: (UserRevocation) async throws(LedgerUnavailable) -> Void
    ) async {
        guard case .ended(let reason) = await chain.value.status(of: account), alsoIfDenied || reason != .disabled
        else { return }
        do throws(LedgerUnavailable) {
            try await takeBack(revocation)
        } catch {
            logger.error(
                "Revocation could not be recorded; it lasts until the next start",
                metadata: ["user": "\(account.user)", "detail": "\(error.detail)"])
        }
    }
}
