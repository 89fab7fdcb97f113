internal import GatewayCore

/// Why a call may no longer act for its caller.
public enum CallerWithdrawal: Sendable, Hashable {
    /// The caller's account, session or token was revoked since the verification of its credential began.
    case revoked
    /// The gateway does not know whether it was: another one may have taken its place in the store, or a reload has removed
    /// or replaced the authenticator that verified the credential.
    case unconfirmed
}

/// Checks whether the caller's account, session or token has been revoked since the verification of its credential
/// began.
///
/// The only place where a call in progress asks this. It is asked after each wait: by the authorize phase and the ledger
/// for what they grant, by the record phase before the intent, by the forward phase before each request and each stored
/// text, and by the backend client right before the first byte of a request is written.
public final class CallerRevocationCheck: Sendable {
    private let sessions: any SessionStore
    private let user: UserName
    /// The authenticator that verified the credential.
    private let authenticator: PluginName
    /// The presented token; nil after a login by password.
    private let token: TokenReference?
    /// The revocation epoch, read before the verification of the credential began.
    let epoch: RevocationEpoch

    init(of caller: Identity, since epoch: RevocationEpoch, in sessions: any SessionStore) {
        self.sessions = sessions
        self.user = caller.user
        self.authenticator = caller.authenticator
        self.token = caller.token
        self.epoch = epoch
    }

    /// Whether the caller was revoked, as far as the gateway knows. Reads from memory; safe on any thread.
    var isRevoked: Bool {
        sessions.wasRevoked(user, since: epoch) || token.map { sessions.isRevoked($0, of: user) } ?? false
    }

    /// Why the call may no longer act for the caller; nil while it may. Costs what the check of a token costs; safe on any
    /// thread.
    public var withdrawal: CallerWithdrawal? {
        if isRevoked { return .revoked }
        // Read last: what was read before is up to date only if the gateway has not lost its place meanwhile.
        return sessions.isCurrent && !isWithdrawn ? nil : .unconfirmed
    }

    /// Whether a reload has removed or replaced the authenticator since it verified the credential.
    var isWithdrawn: Bool { sessions.wasWithdrawn(authenticator, since: epoch) }

    /// Rejects the call if it may no longer act for the caller.
    func check() throws(Rejection) {
        switch withdrawal {
        case nil: return
        case .revoked:
            throw Rejection(
                .credentialsRejected, "the account, the session or the token was revoked while the call waited")
        case .unconfirmed where isWithdrawn:
            throw Rejection(
                .authenticatorUnavailable, "a reload replaced the authenticator while the call waited",
                extra: .retryAfter(seconds: 1))
        case .unconfirmed: throw .unconfirmedSessions
        }
    }
}

extension Rejection {
    /// The rejection of a call while the gateway does not know which credentials were revoked.
    static var unconfirmedSessions: Rejection {
        Rejection(
            .ledgerUnavailable, "the store has not confirmed this gateway; another one may have taken its place",
            extra: .retryAfter(seconds: 5))
    }
}

/// The user in whose name the requests of a plan are made, and the check that precedes each of them.
struct PlannedCaller: Sendable {
    let user: UserName
    /// Nil for a request that a revocation does not stop: a deletion by the gateway itself.
    let revocation: CallerRevocationCheck?
}
