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

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask {
                    while (try? await Task.sleep(for: period)) != nil { look.yield() }
                    look.finish()
                }
                tasks.addTask {
                    for await _ in looks { await review() }
                }
            }
        }
    }

    /// Looks at every account that has a session or a registration, once.
    func review() async {
        let accounts = Set(sessions.allSessions.map(\.account)).union(await registeringAccounts())
        await withTaskGroup { tasks in
            var rest = accounts.makeIterator()
            for _ in 0..<Self.atOnce {
                if let account = rest.next() { tasks.addTask { await look(at: account) } }
            }
            while await tasks.next() != nil, !Task.isCancelled {
                if let account = rest.next() { tasks.addTask { await look(at: account) } }
            }
        }
        do throws(LedgerUnavailable) {
            try await sessions.forgetEnded()
        } catch {
            logger.error("Sessions that have ended stay for now", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// The accounts that registrations were made by. Whose authenticator is no longer configured keeps them: nobody can say any
    /// more how the account stands, and the next registration tells who vouches now.
    private func registeringAccounts() async -> [Account] {
        do throws(LedgerUnavailable) {
            let chain = chain.value
            return try await sessions.registeringAccounts().filter { chain.mustReview($0.authenticator) }
        } catch {
            logger.error("Who has registered is not looked at for now", metadata: ["detail": "\(error.detail)"])
            return []
        }
    }

    private func look(at account: Account) async {
        guard case .ended = await chain.value.standing(of: account) else { return }
        do throws(LedgerUnavailable) {
            try await revocation.revoke(account.user, because: .ended, authenticator: account.authenticator)
        } catch {
            logger.error(
                "A user is revoked until the next start only",
                metadata: ["user": "\(account.user)", "detail": "\(error.detail)"])
        }
    }
}
