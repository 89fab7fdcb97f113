public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// A token issuer with numbered tokens. The test sets the status of its accounts.
public final class TestIssuer: TokenIssuer, AccountAuthenticator {
    /// The authenticator's name.
    public static let name: PluginName = "test-issuer"

    private struct State {
        var tokens: [String: Identity] = [:]
        var status = AccountStatus.valid(groups: [])
        var fault: TokenIssueError?
        var queriedLogins: [LoginName] = []
    }

    private let sessions: any RevocationList
    private let state = Mutex(State())

    /// The lifetime of a session: one day.
    public let sessionLifetime = Duration.seconds(86_400)

    /// Creates an issuer that checks the revocations.
    public init(revocations: any RevocationList) { sessions = revocations }

    /// Sets the status of all accounts.
    public func setStatus(_ status: AccountStatus) { state.withLock { $0.status = status } }

    /// Makes issuing fail, until it is called with nil.
    public func fail(_ fault: TokenIssueError?) { state.withLock { $0.fault = fault } }

    /// The names whose status was queried, in order.
    public var queriedLogins: [LoginName] { state.withLock(\.queriedLogins) }

    /// Issues a token that is valid for an hour. The first token is `token-1`.
    public func issue(
        for user: UserName, groups: Set<GroupName>, in session: Session, now: WallTime
    ) throws(TokenIssueError) -> IssuedToken {
        let result: Result<IssuedToken, TokenIssueError> = state.withLock { state in
            if let fault = state.fault { return .failure(fault) }
            let text = "token-\(state.tokens.count + 1)"
            let expires = WallTime(seconds: now.seconds + 3600)
            state.tokens[text] = Identity(
                user: user, groups: groups, authenticator: Self.name,
                token: TokenReference(id: text, session: session.id, issued: now, expires: expires))
            return .success(IssuedToken(token: Secret(text.utf8), expires: expires, id: text, key: "test"))
        }
        return try result.get()
    }

    /// Adds a token without a session, such as one that an operator issued.
    public func add(_ text: String, _ identity: Identity) { state.withLock { $0.tokens[text] = identity } }

    /// Accepts its own tokens unless they are revoked.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .bearer(let token) = credential else { return .notMine }
        let text = token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        guard let identity = state.withLock({ $0.tokens[text] }), let reference = identity.token else {
            return .rejected(.untrusted)
        }
        return sessions.isRevoked(reference, of: identity.user) ? .rejected(.revoked) : .accepted(identity)
    }

    /// Returns the configured status.
    public func status(of login: LoginName) async -> AccountStatus {
        state.withLock { state in
            state.queriedLogins.append(login)
            return state.status
        }
    }
}
