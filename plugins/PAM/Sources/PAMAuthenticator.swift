public import GatewayCore
internal import GatewaySupport
internal import Logging
internal import WorkerProcesses

/// The authenticator that verifies passwords with PAM, in worker processes.
///
/// PAM modules block, fork, leak and crash; a worker process keeps that away from the gateway. A login waits without
/// a thread until a worker is free, and takes at most the configured deadline.
public final class PAMAuthenticator: AccountAuthenticator, MeasuredAuthenticator {
    private let settings: PAMPlugin.Settings
    private let context: PluginContext
    let pool: WorkerPool<WorkerRequest>

    init(_ settings: PAMPlugin.Settings, context: PluginContext) {
        self.settings = settings
        self.context = context
        pool = WorkerPool(
            WorkerPoolSettings(settings), clock: context.clocks.monotonic, logger: context.logger)
    }

    deinit { pool.stop() }

    /// The number of workers that are `busy` and `idle`, and of logins that are `waiting`.
    public var load: [AuthenticatorLoad] {
        let load = pool.load
        return [
            AuthenticatorLoad("busy", load.busy), AuthenticatorLoad("idle", load.idle),
            AuthenticatorLoad("waiting", load.waiting),
        ]
    }

    /// Verifies a password. Resumes on the caller's executor, within the deadline.
    ///
    /// The login is accepted only if the user that the modules return has the same canonical name as the login: a
    /// stack may return `alice` for `alice@example.com`.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .password(let login, let password) = credential else { return .notMine }
        guard let user = context.names.unambiguousCanonical(login), LoginGrammar.isName(login) else {
            return context.isLastOfItsKind ? .rejected(.wrong) : .notMine
        }
        guard LoginGrammar.isPassword(password) else { return .rejected(.malformed) }
        let request = WorkerRequest(
            operation: .login, service: settings.service, user: login.text, remoteHost: RemoteHost.text(of: peer),
            password: password, account: user.text, minimumUID: settings.minimumUID)
        switch await query(request, for: .address(peer.limitKey)) {
        case .failure(let fault): return .unavailable(OutageReason(fault))
        case .success(let answer): return outcome(of: answer, to: request, from: user)
        }
    }

    /// Returns whether `pam_acct_mgmt` still accepts an account, as for a request.
    public func status(of login: LoginName) async -> AccountStatus { await status(of: login, for: .request) }

    /// Returns whether `pam_acct_mgmt` still accepts an account, without a password. Resumes on the caller's
    /// executor, within one deadline for each name that it tries.
    ///
    /// The modules of `auth` may accept a longer name than the account database has, and this check does not call
    /// them. If the database has no account with the login's name, the name without prefix and suffix is tried.
    public func status(of login: LoginName, for purpose: AccountQueryPurpose) async -> AccountStatus {
        guard let user = context.names.unambiguousCanonical(login), LoginGrammar.isName(login) else {
            return .ended(.wrong)
        }
        let status = await status(of: login, as: user, for: purpose)
        let canonical = context.names.login(of: user)
        guard status == .ended(.wrong), canonical != login, LoginGrammar.isName(canonical) else { return status }
        return await self.status(of: canonical, as: user, for: purpose)
    }

    private func status(
        of login: LoginName, as user: UserName, for purpose: AccountQueryPurpose
    ) async -> AccountStatus {
        // No device is involved, so modules that decide by address get the address of this machine.
        let request = WorkerRequest(
            operation: .accountStatus, service: settings.service, user: login.text, remoteHost: RemoteHost.thisMachine,
            password: Secret([]), account: user.text, minimumUID: settings.minimumUID)
        switch await query(request, for: LoginOrigin(purpose, of: user)) {
        case .failure(let fault): return .unknown(OutageReason(fault))
        case .success(let answer):
            switch outcome(of: answer, to: request, from: user) {
            case .accepted(let identity): return .valid(groups: identity.groups)
            case .rejected(let reason): return .ended(reason)
            case .notMine: return .ended(.wrong)
            case .unavailable(let reason): return .unknown(reason)
            }
        }
    }

    private func query(
        _ request: WorkerRequest, for origin: LoginOrigin
    ) async -> Result<WorkerResponse, WorkerPoolError> {
        await pool.query(request, for: origin).map { reply in
            if !reply.changes.isEmpty {
                context.logger.warning(
                    "PAM module changed its worker, worker replaced", metadata: ["changed": "\(reply.changes)"])
            }
            return reply.response
        }
    }

    private func outcome(
        of answer: WorkerResponse, to request: WorkerRequest, from user: UserName
    ) -> AuthenticationOutcome {
        let workerResult: WorkerResult
        switch answer {
        case .workerResult(let result): workerResult = result
        case .rejection(let rejection):
            context.logger.error("PAM worker could not run the modules", metadata: ["reason": "\(rejection)"])
            return .unavailable(.failed)
        case .invalidStack(let problem):
            context.logger.error(
                "PAM stack is invalid, no module called",
                metadata: ["service": "\(settings.service)", "problem": "\(problem)"])
            return .unavailable(.unreachable)
        }
        switch PAMResult(workerResult, of: request.operation, minimumUID: settings.minimumUID) {
        case .undecided:
            let codes = [workerResult.authentication, workerResult.account].map { $0.map(\.description) ?? "-" }
            // Account checks come in large numbers and their caller counts the failures, so each one is logged at
            // debug level only.
            context.logger.log(
                level: request.operation == .login ? .warning : .debug, "PAM modules returned no decision",
                metadata: ["authenticate": "\(codes[0])", "account": "\(codes[1])"])
            return .unavailable(.failed)
        case .refused(let reason, let isKnown):
            return isKnown || context.isLastOfItsKind ? .rejected(reason) : .notMine
        case .granted(let name, let groups):
            guard context.names.unambiguousCanonical(LoginName(name)) == user else {
                context.logger.warning("PAM modules returned another user than the one logging in")
                return .rejected(.wrong)
            }
            return .accepted(Identity(user: user, groups: groups, authenticator: PAMPlugin.name))
        }
    }
}
