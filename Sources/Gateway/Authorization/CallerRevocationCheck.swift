internal import GatewayCore

/// Checks whether the caller's account, session or token has been revoked since the verification of its credential
/// began.
struct CallerRevocationCheck: Sendable {
    let sessions: any SessionStore
    let user: UserName
    /// The presented token; nil after a login by password.
    let token: TokenReference?
    /// The revocation epoch, read before the verification of the credential began.
    let epoch: RevocationEpoch

    init(of caller: Identity, since epoch: RevocationEpoch, in sessions: any SessionStore) {
        self.sessions = sessions
        self.user = caller.user
        self.token = caller.token
        self.epoch = epoch
    }

    /// Whether the caller was revoked. Reads from memory; safe on any thread.
    var isRevoked: Bool {
        sessions.wasRevoked(user, since: epoch) || token.map { sessions.isRevoked($0, of: user) } ?? false
    }

    /// Rejects the call if the caller was revoked.
    func check() throws(Rejection) {
        guard isRevoked else { return }
        throw Rejection(.credentialsRejected, "the account, the session or the token was revoked while the call waited")
    }
}
