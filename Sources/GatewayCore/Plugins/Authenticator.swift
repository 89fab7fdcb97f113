/// Judges credentials. Plug-ins make these; the way of a call asks them in the order of the configuration.
public protocol Authenticator: Sendable {
    /// Judges one presented credential. A wrong password is an answer, not an error.
    ///
    /// Called on the event loop of the call: work that blocks or burns time goes to the context's blocking pool. The
    /// credential is of one of the kinds that the plug-in `takes`.
    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome

    /// Judges one presented token without any wait; nil where it has to wait, and `authenticate` is then asked.
    ///
    /// For who needs no more than some microseconds on the call's loop: such a call costs neither a task nor a timer for the
    /// deadline. Must say what `authenticate` would say. Nil unless implemented.
    func verdictAtOnce(on credential: Credential, from peer: Peer) -> AuthenticationOutcome?
}

extension Authenticator {
    /// Has to wait.
    public func verdictAtOnce(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? { nil }
}

/// What an authenticator says of a credential.
public enum AuthenticationOutcome: Sendable, Hashable {
    /// Not this authenticator's: its kind of credential, but not its name or issuer. The next one is asked.
    case notMine
    /// Good.
    case accepted(Identity)
    /// This authenticator's, and bad. Nobody else is asked.
    case rejected(RejectionReason)
    /// It cannot tell: 503, never counted as a failed login, never let in.
    case unavailable(OutageReason)
}

/// Why a credential is bad: for log and metrics, never for the caller.
public enum RejectionReason: String, Sendable, Hashable, CaseIterable {
    /// No such user, or a wrong password: told apart by nobody.
    case wrong
    /// The account is disabled.
    case disabled
    /// The account or the token has expired.
    case expired
    /// A token that is not valid yet.
    case notYetValid = "not-yet-valid"
    /// A token or password that does not parse.
    case malformed
    /// A token whose signature, key or algorithm is not good.
    case untrusted
    /// A token that was taken back, or whose session has ended.
    case revoked
    /// The name has no canonical form.
    case unmapped
}

/// Why an authenticator cannot tell.
public enum OutageReason: String, Sendable, Hashable, CaseIterable {
    /// Too many logins are waiting.
    case busy
    /// It did not answer in time.
    case timedOut = "timed-out"
    /// Something under it failed.
    case failed
}
