public import GatewayCore
internal import Synchronization

/// An authenticator whose tokens are numbered words, and whose accounts stand as the test says.
public final class TestIssuer: TokenIssuer, AccountAuthenticator {
    /// What it is called.
    public static let name: PluginName = "test-issuer"

    private struct State {
        var tokens: [String: Identity] = [:]
        var standing = AccountStanding.good(groups: [])
        var fault: IssueFault?
        var asked: [LoginName] = []
    }

    private let sessions: any RevocationList
    private let state = Mutex(State())

    /// A session lasts for a day.
    public let sessionLifetime = Duration.seconds(86_400)

    /// An issuer that knows what was revoked.
    public init(revocations: any RevocationList) { sessions = revocations }

    /// How all accounts stand from now on.
    public func stand(_ standing: AccountStanding) { state.withLock { $0.standing = standing } }

    /// From now on nothing is issued, until this is called with nil.
    public func fail(_ fault: IssueFault?) { state.withLock { $0.fault = fault } }

    /// The names that it was asked about, in order.
    public var asked: [LoginName] { state.withLock(\.asked) }

    /// Issues a token of an hour, `token-1` first.
    public func issue(
        for user: UserName, groups: Set<GroupName>, in session: Session, now: WallTime
    ) throws(IssueFault) -> IssuedToken {
        let result: Result<IssuedToken, IssueFault> = state.withLock { state in
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

    /// A token of no session, as an operator may have given it out.
    public func add(_ text: String, _ identity: Identity) { state.withLock { $0.tokens[text] = identity } }

    /// Accepts its own tokens that were not revoked.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .bearer(let token) = credential else { return .notMine }
        let text = token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        guard let identity = state.withLock({ $0.tokens[text] }), let reference = identity.token else {
            return .rejected(.untrusted)
        }
        return sessions.isRevoked(reference, of: identity.user) ? .rejected(.revoked) : .accepted(identity)
    }

    /// As the test says.
    public func standing(of login: LoginName) async -> AccountStanding {
        state.withLock { state in
            state.asked.append(login)
            return state.standing
        }
    }
}
