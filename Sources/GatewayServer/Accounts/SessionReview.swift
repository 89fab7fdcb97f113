internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import Logging
internal import ServiceLifecycle

/// Looks every ten minutes at the accounts that sessions began with: one that PAM has locked or let expire has no file whose
/// change would tell.
struct SessionReview: Service {
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

    private struct Account: Hashable {
        let user: UserName
        let login: LoginName
        let authenticator: PluginName
    }

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

    /// Looks at every account that has a session, once.
    func review() async {
        var accounts: [Account: Session] = [:]
        for session in sessions.allSessions {
            accounts[
                Account(user: session.user, login: session.login, authenticator: session.authenticator)] = session
        }
        await withTaskGroup { tasks in
            var rest = accounts.values.makeIterator()
            for _ in 0..<Self.atOnce {
                if let session = rest.next() { tasks.addTask { await look(at: session) } }
            }
            while await tasks.next() != nil, !Task.isCancelled {
                if let session = rest.next() { tasks.addTask { await look(at: session) } }
            }
        }
        do throws(LedgerUnavailable) {
            try await sessions.forgetEnded()
        } catch {
            logger.error("Sessions that have ended stay for now", metadata: ["detail": "\(error.detail)"])
        }
    }

    private func look(at session: Session) async {
        guard case .ended = await chain.value.standing(of: session) else { return }
        do throws(LedgerUnavailable) {
            try await revocation.revoke(session.user, because: .ended, authenticator: session.authenticator)
        } catch {
            logger.error(
                "A user is revoked until the next start only",
                metadata: ["user": "\(session.user)", "detail": "\(error.detail)"])
        }
    }
}
