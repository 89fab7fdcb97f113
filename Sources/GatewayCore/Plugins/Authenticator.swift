/// A verifier of credentials, made by a plug-in. The gateway queries authenticators in the order of the configuration.
public protocol Authenticator: Sendable {
    /// Verifies one credential. A wrong password is a returned outcome, not an error.
    ///
    /// Called on the event loop of the call. Work that blocks or needs much CPU time belongs on the context's blocking
    /// pool. The credential's kind is one of those that the plug-in `takes`.
    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome

    /// Verifies one token without suspending; returns nil if that is not possible, and `authenticate` is called then.
    ///
    /// For authenticators that need no more than some microseconds on the event loop of the call. Such a call needs
    /// neither a task nor a deadline timer. The result must be the same as that of `authenticate`. The default
    /// implementation returns nil.
    func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome?
}

extension Authenticator {
    /// Returns nil: the authenticator has to suspend.
    public func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? { nil }
}

/// The result of verifying a credential.
public enum AuthenticationOutcome: Sendable, Hashable {
    /// The credential belongs to another authenticator, by its name or issuer. The gateway queries the next one.
    case notMine
    /// The credential is valid.
    case accepted(Identity)
    /// The credential belongs to this authenticator and is invalid. The gateway queries no other one.
    case rejected(InvalidCredentialReason)
    /// The credential cannot be verified now. The client gets 503; this counts as neither a failed nor a successful
    /// login.
    case unavailable(OutageReason)
}

/// The reason why a credential is invalid. For log and metrics, never sent to the caller.
public enum InvalidCredentialReason: String, Sendable, Hashable, CaseIterable {
    /// Unknown user or wrong password. The two are never distinguished.
    case wrong
    /// The account is disabled.
    case disabled
    /// The account or the token has expired.
    case expired
    /// The token is not valid yet.
    case notYetValid = "not-yet-valid"
    /// The token or password cannot be parsed.
    case malformed
    /// The token's signature, key or algorithm is not accepted.
    case untrusted
    /// The token was revoked, or its session is closed.
    case revoked
    /// The name has no canonical form.
    case unmapped
}

/// The reason why an authenticator cannot verify a credential.
public enum OutageReason: String, Sendable, Hashable, CaseIterable {
    /// Too many logins are waiting.
    case busy
    /// The authenticator did not respond in time.
    case timedOut = "timed-out"
    /// A component that the authenticator depends on failed.
    case failed
}
