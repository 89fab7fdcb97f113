internal import CLDAP
public import GatewayCore
internal import GatewaySupport
internal import Logging
internal import WorkerProcesses

/// The authenticator that verifies passwords with a directory: it searches the user's entry, then binds with the entry's
/// name and the password.
///
/// libldap blocks and parses what a server sends; worker processes keep both away from the gateway. A login waits without
/// a thread until a worker is free, and takes at most the configured timeout.
public final class LDAPAuthenticator: AccountAuthenticator, MeasuredAuthenticator {
    private let settings: LDAPPlugin.Settings
    private let context: PluginContext
    let pool: WorkerPool<DirectoryRequest>

    init(_ settings: LDAPPlugin.Settings, context: PluginContext) {
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

    /// Verifies a password. Resumes on the caller's executor, within the timeout.
    ///
    /// The login is accepted only if a value of the entry's user attribute has the same canonical name as the login: a
    /// filter may find `alice` by `alice@example.com`, and directories ignore spaces that the gateway does not.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .password(let login, let password) = credential else { return .notMine }
        guard let user = context.names.unambiguousCanonical(login), LoginGrammar.isName(login) else {
            return context.isLastOfItsKind ? .rejected(.wrong) : .notMine
        }
        guard LoginGrammar.isPassword(password) else { return .rejected(.malformed) }
        let request = settings.request(.login, user: login.text, password: password)
        switch await pool.query(request, for: .address(peer.limitKey)) {
        case .failure(let fault): return .unavailable(OutageReason(fault))
        case .success(let response): return outcome(of: response, to: request, from: user)
        }
    }

    /// Searches for an account, without a password, as for a request.
    public func status(of login: LoginName) async -> AccountStatus { await status(of: login, for: .request) }

    /// Searches for an account, without a password. Resumes on the caller's executor, within the timeout.
    public func status(of login: LoginName, for purpose: AccountQueryPurpose) async -> AccountStatus {
        guard let user = context.names.unambiguousCanonical(login), LoginGrammar.isName(login) else {
            return .ended(.wrong)
        }
        let request = settings.request(.accountStatus, user: login.text, password: Secret([]))
        switch await pool.query(request, for: LoginOrigin(purpose, of: user)) {
        case .failure(let fault): return .unknown(OutageReason(fault))
        case .success(let response):
            switch outcome(of: response, to: request, from: user) {
            case .accepted(let identity): return .valid(groups: identity.groups)
            case .rejected(let reason): return .ended(reason)
            case .notMine: return .ended(.wrong)
            case .unavailable(let reason): return .unknown(reason)
            }
        }
    }

    private func outcome(
        of response: DirectoryResponse, to request: DirectoryRequest, from user: UserName
    ) -> AuthenticationOutcome {
        // Account checks come in large numbers and their caller counts the failures, so each one is logged at debug
        // level only.
        let level: Logger.Level = request.operation == .login ? .warning : .debug
        switch response {
        case .fault(let fault):
            context.logger.log(
                level: level, "LDAP server gave no result",
                metadata: [
                    "step": "\(fault.step)", "code": "\(fault.code)", "reason": "\(fault.reason)",
                ])
            return .unavailable(OutageReason(fault))
        case .findings(let findings):
            let result = LDAPResult(findings, of: request.operation, now: context.clocks.wall()) { name in
                context.names.unambiguousCanonical(LoginName(name)) == user
            }
            switch result {
            case .granted(let groups):
                return .accepted(Identity(user: user, groups: groups, authenticator: LDAPPlugin.name))
            case .refused(let reason, let isKnown):
                return isKnown || context.isLastOfItsKind ? .rejected(reason) : .notMine
            case .undecided(let doubt):
                context.logger.log(
                    level: level, "LDAP server allowed no decision",
                    metadata: [
                        "reason": "\(doubt.rawValue)", "code": "\(findings.bind.map { "\($0.code)" } ?? "-")",
                    ])
                return .unavailable(findings.bind.map { OutageReason(ldapCode: $0.code) } ?? .failed)
            }
        }
    }
}

extension DirectoryFault {
    /// The reason for the log.
    fileprivate var reason: String {
        switch step {
        case .connection where code == LDAP_TIMEOUT: "no address of the host in url responds in time"
        case .connection: "the host in url is unknown, or none of its addresses accepts a connection"
        case .encryption:
            "the server does not use TLS, or its certificate has expired, is of another authority or for another name"
        case .serverName:
            "the server's certificate is for another name: the host in url is not among its subject alternative names"
        case .settings, .serviceBind, .search, .accountFilter, .groups, .tooManyGroups:
            String(cString: ldap_err2string(code))
        }
    }
}

extension OutageReason {
    fileprivate init(_ fault: DirectoryFault) {
        switch fault.step {
        // The password was not sent yet.
        case .settings, .connection, .encryption, .serverName, .serviceBind, .search: self = .unreachable
        case .accountFilter, .groups, .tooManyGroups: self.init(ldapCode: fault.code)
        }
    }

    /// Creates the reason for a bind with the user's password, or for what followed it.
    fileprivate init(ldapCode code: Int32) {
        switch code {
        case LDAP_TIMEOUT, LDAP_TIMELIMIT_EXCEEDED: self = .timedOut
        default: self = .failed
        }
    }
}
