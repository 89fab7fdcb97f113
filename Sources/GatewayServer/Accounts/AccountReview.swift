internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import Logging
internal import ServiceLifecycle

/// Looks every ten minutes at the accounts that sessions began with and that registrations were made by: one that PAM has locked
/// or let expire has no file whose change would tell.
struct AccountReview: Service {
    let sessions: SessionRegister
    let chain: Current<AuthenticatorChain>
    let revocation: UserRevocation
    let logger: Logger
    var period = Duration.seconds(600)
    private let looks: AsyncStream<Void>
    private let look: AsyncStream<Void>.Continuation

    init(
        sessions: SessionRegister, chain: Current<AuthenticatorChain>, revocation: UserRevocation, logger: Logger
    ) {
        self.sessions = sessions
        self.chain = chain
        self.revocation = revocation
        self.logger = logger
        (looks, look) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has all accounts looked at now: other authenticators are configured.
    func wake() { look.yield() }

    /// How many accounts are looked at at once: logins need the workers too.
    private static let atOnce = 2

    /// So many may end at once, or a tenth of all. More of them are taken for a directory that has forgotten its users.
    private static let mostEndingAtOnce = 10

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask {
                    while (try? await Task.sleep(for: period)) != nil { look.yield() }
                    look.finish()
                }
                tasks.addTask {
                    var suspects: Set<Account> = []
                    for await _ in looks { await review(&suspects) }
                }
            }
        }
    }

    /// Looks at every account that has a session or a registration, once, and then takes back what those had that have ended.
    ///
    /// - Parameter suspects: the accounts without a session that had ended at the look before. What only a device has is not taken
    ///   for one word: a phone that nobody looks at is not registered again soon.
    func review(_ suspects: inout Set<Account>) async {
        // One for the whole look: of another configuration's authenticators nothing follows for these accounts.
        let chain = chain.value
        let withSession = Set(sessions.allSessions.map(\.account))
        let accounts = withSession.union(await registeringAccounts(chain))
        let ended = await lookAt(accounts, chain)
        var certain = Set(ended.keys.filter { !chain.mustReview($0.authenticator) })
        let seeming = ended.filter { account, reason in
            // Who is denied may be so for the hour or the place; what only a device has stays.
            !certain.contains(account) && (withSession.contains(account) || reason != .disabled)
        }.keys
        if seeming.count > max(Self.mostEndingAtOnce, accounts.count / 10) {
            logger.error(
                "So many accounts seem to have ended at once that nothing is taken back; is a directory away?",
                metadata: ["ended": "\(seeming.count)", "accounts": "\(accounts.count)"])
        } else {
            certain.formUnion(seeming.filter { withSession.contains($0) || suspects.contains($0) })
            suspects = Set(seeming).subtracting(certain)
        }
        for account in certain { await takeBack(account) }
        do throws(LedgerUnavailable) {
            try await sessions.forgetEnded()
        } catch {
            logger.error("Sessions that have ended stay for now", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// The accounts that registrations were made by. Whose authenticator is no longer configured keeps them: nobody can say any
    /// more how the account stands, and the next registration tells who vouches now.
    private func registeringAccounts(_ chain: AuthenticatorChain) async -> [Account] {
        do throws(LedgerUnavailable) {
            return try await sessions.registeringAccounts().filter { chain.mustReview($0.authenticator) }
        } catch {
            logger.error("Who has registered is not looked at for now", metadata: ["detail": "\(error.detail)"])
            return []
        }
    }

    /// Those of the accounts that have ended, and why.
    private func lookAt(_ accounts: Set<Account>, _ chain: AuthenticatorChain) async -> [Account: RejectionReason] {
        var ended: [Account: RejectionReason] = [:]
        var unknown = 0
        await withTaskGroup(of: (Account, AccountStanding?).self) { tasks in
            var rest = accounts.makeIterator()
            func lookAtNext() {
                if let account = rest.next() { tasks.addTask { (account, await chain.standing(of: account)) } }
            }
            for _ in 0..<Self.atOnce { lookAtNext() }
            while let (account, standing) = await tasks.next(), !Task.isCancelled {
                switch standing {
                case .ended(let reason): ended[account] = reason
                case .unknown: unknown += 1
                case .good, nil: break
                }
                lookAtNext()
            }
        }
        if unknown > 0 {
            logger.warning(
                "Of some accounts nobody can say how they stand",
                metadata: ["unknown": "\(unknown)", "accounts": "\(accounts.count)"])
        }
        return ended
    }

    private func takeBack(_ account: Account) async {
        do throws(LedgerUnavailable) {
            try await revocation.revoke(account.user, because: .ended, authenticator: account.authenticator)
        } catch {
            logger.error(
                "A user is revoked until the next start only",
                metadata: ["user": "\(account.user)", "detail": "\(error.detail)"])
        }
    }
}
