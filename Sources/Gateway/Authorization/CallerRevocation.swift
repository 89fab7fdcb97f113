internal import GatewayCore

/// Tells whether a caller has lost, since its credential was verified, what let it in: its account, its session or its token.
struct CallerRevocation: Sendable {
    let sessions: any SessionStore
    let user: UserName
    /// The token that was presented, where one was.
    let token: TokenReference?
    /// From before the credential was verified.
    let epoch: RevocationEpoch

    init(of caller: Identity, since epoch: RevocationEpoch, in sessions: any SessionStore) {
        self.sessions = sessions
        self.user = caller.user
        self.token = caller.token
        self.epoch = epoch
    }

    /// Looks into memory. On any thread.
    var isRevoked: Bool {
        sessions.wasRevoked(user, since: epoch) || token.map { sessions.isRevoked($0, of: user) } ?? false
    }

    /// Refuses a call of a caller that is revoked.
    func check() throws(Refusal) {
        guard isRevoked else { return }
        throw Refusal(.credentialsRejected, "the account, the session or the token was revoked while the call waited")
    }
}
