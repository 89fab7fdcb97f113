public import GatewayCore
internal import Logging

/// Judges passwords by PAM, in worker processes.
///
/// Modules block, fork, leak and crash; none of that reaches the gateway. A login waits without a thread until a worker is
/// free, and costs at most the deadline.
public final class PAMAuthenticator: AccountAuthenticator, MeasuredAuthenticator {
    private let settings: PAMPlugin.Settings
    private let context: PluginContext
    let pool: LoginPool

    init(_ settings: PAMPlugin.Settings, context: PluginContext) {
        self.settings = settings
        self.context = context
        pool = LoginPool(settings, clock: context.clocks.monotonic, logger: context.logger)
    }

    deinit { pool.stop() }

    /// Workers that are `busy` and `idle`, and logins that are `waiting`.
    public var load: [AuthenticatorLoad] {
        let load = pool.load
        return [
            AuthenticatorLoad("busy", load.busy), AuthenticatorLoad("idle", load.idle),
            AuthenticatorLoad("waiting", load.waiting),
        ]
    }

    /// Judges a password. Resumes on the caller's loop, within the deadline.
    ///
    /// The account is accepted only as the user that was asked for: a stack may answer `alice` for `alice@example.com` where
    /// both have the same canonical name.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .password(let login, let password) = credential else { return .notMine }
        guard let user = context.names.canonical(login.text), LoginGrammar.isName(login) else {
            return context.isLastOfItsKind ? .rejected(.wrong) : .notMine
        }
        guard LoginGrammar.isPassword(password) else { return .rejected(.malformed) }
        let request = WorkerRequest(
            operation: .login, service: settings.service, user: login.text, remoteHost: RemoteHost.text(of: peer),
            password: password, account: user.text, minimumUID: settings.minimumUID)
        switch await pool.ask(request, for: .address(peer.limitKey)) {
        case .failure(let fault): return .unavailable(OutageReason(fault))
        case .success(let answer): return outcome(of: answer, to: request, from: user)
        }
    }

    /// Whether an account that logged in before is still good: what `pam_acct_mgmt` says without a password. Resumes on the
    /// caller's executor, within the deadline for each name that it asks about.
    ///
    /// `auth` may let somebody in by a longer name than the account database has, and a look does not come by it: where there
    /// is no account of the name that was logged in with, the canonical one counts.
    public func standing(of login: LoginName) async -> AccountStanding {
        guard let user = context.names.canonical(login.text), LoginGrammar.isName(login) else {
            return .ended(.wrong)
        }
        let standing = await standing(of: login, as: user)
        let canonical = LoginName(user.text)
        guard standing == .ended(.wrong), canonical != login, LoginGrammar.isName(canonical) else { return standing }
        return await self.standing(of: canonical, as: user)
    }

    private func standing(of login: LoginName, as user: UserName) async -> AccountStanding {
        // No device is asking: modules that decide by address see this machine.
        let request = WorkerRequest(
            operation: .standing, service: settings.service, user: login.text, remoteHost: RemoteHost.thisMachine,
            password: Secret([]), account: user.text, minimumUID: settings.minimumUID)
        switch await pool.ask(request, for: .gateway) {
        case .failure(let fault): return .unknown(OutageReason(fault))
        case .success(let answer):
            switch outcome(of: answer, to: request, from: user) {
            case .accepted(let identity): return .good(groups: identity.groups)
            case .rejected(let reason): return .ended(reason)
            case .notMine: return .ended(.wrong)
            case .unavailable(let reason): return .unknown(reason)
            }
        }
    }

    private func outcome(
        of answer: WorkerAnswer, to request: WorkerRequest, from user: UserName
    ) -> AuthenticationOutcome {
        guard case .findings(let findings) = answer else {
            if case .refusal(let refusal) = answer {
                context.logger.error("the worker could not ask", metadata: ["reason": "\(refusal)"])
            }
            return .unavailable(.failed)
        }
        switch PAMVerdict(findings, of: request.operation, minimumUID: settings.minimumUID) {
        case .undecided:
            let codes = [findings.authentication, findings.account].map { $0.map(\.description) ?? "-" }
            // Of accounts that are looked at there may be many; whoever looks at them counts.
            context.logger.log(
                level: request.operation == .login ? .warning : .debug, "the modules cannot tell",
                metadata: ["authenticate": "\(codes[0])", "account": "\(codes[1])"])
            return .unavailable(.failed)
        case .refused(let reason, let isKnown):
            return isKnown || context.isLastOfItsKind ? .rejected(reason) : .notMine
        case .granted(let name, let groups):
            guard context.names.canonical(name) == user else {
                context.logger.warning("the modules answered for another user than the one asked for")
                return .rejected(.wrong)
            }
            return .accepted(Identity(user: user, groups: groups, authenticator: PAMPlugin.name))
        }
    }
}

extension OutageReason {
    init(_ fault: LoginFault) {
        switch fault {
        case .busy: self = .busy
        case .worker(.timedOut): self = .timedOut
        case .worker(.notStarted), .worker(.ended), .worker(.garbage), .worker(.unsendable), .stopped: self = .failed
        }
    }
}
