internal import GatewayCore

/// Checks whether the caller's account, session or token has been revoked since the verification of its credential
/// began.
struct CallerRevocationCheck: Sendable {
    let sessions: any SessionStore
    let user: UserName
    /// The authenticator that verified the credential.
    let authenticator: PluginName
    /// The presented token; nil after a login by password.
    let token: TokenReference?
    /// The revocation epoch, read before the verification of the credential began.
    let epoch: RevocationEpoch

    init(of caller: Identity, since epoch: RevocationEpoch, in sessions: any SessionStore) {
        self.sessions = sessions
        self.user = caller.user
        self.authenticator = caller.authenticator
        self.token = caller.token
        self.epoch = epoch
    }

    /// Whether the caller was revoked, or the authenticator of the credential withdrawn. Reads from memory; safe on any
    /// thread.
    var isRevoked: Bool {
        sessions.wasRevoked(user, since: epoch) || token.map { sessions.isRevoked($0, of: user) } ?? false
            || isWithdrawn
    }

    /// Whether a reload has removed or replaced the authenticator since it verified the credential.
    private var isWithdrawn: Bool { sessions.wasWithdrawn(authenticator, since: epoch) }

    /// Rejects the call if the caller was revoked.
    func check() throws(Rejection) {
        guard isRevoked else { return }
        if isWithdrawn {
            throw Rejection(
                .authenticatorUnavailable, "a reload replaced the authenticator while the call waited",
                extra: .retryAfter(seconds: 1))
        }
        throw Rejection(.credentialsRejected, "the account, the session or the token was revoked while the call waited")
    }
}
