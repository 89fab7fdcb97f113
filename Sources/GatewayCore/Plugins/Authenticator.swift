public import GatewaySupport

/// A verifier of credentials, made by a plug-in. The gateway queries authenticators in the order of the configuration.
public protocol Authenticator: Sendable {
    /// Verifies one credential. A wrong password is a returned outcome, not an error.
    ///
    /// Called on the event loop of the call. Work that blocks or needs much CPU time belongs on the context's blocking
    /// pool. The credential's kind is one of the `credentialKinds` of the plug-in.
    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome

    /// Verifies one token or certificate without suspending; returns nil if that is not possible, and `authenticate` is called then.
    ///
    /// For authenticators that need no more than some microseconds on the event loop of the call. Such a call needs
    /// neither a task nor a deadline timer. The result must be the same as that of `authenticate`. The default
    /// implementation returns nil.
    func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome?

    /// Whether `authenticate` queries a service for each token. The gateway then charges the client's address before it
    /// passes a token on, unless the token was accepted before. The default is true; false for an authenticator that
    /// itself bounds what tokens cause.
    var queriesServiceForTokens: Bool { get }
}

extension Authenticator {
    /// True: each token may cause a query.
    public var queriesServiceForTokens: Bool { true }

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
    /// The credential cannot be verified now. The client gets 503. The try counts like a wrong one if the credential may
    /// have been verified nevertheless (`OutageReason.mayHaveVerified`), until the same credential is accepted.
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
    /// Too many logins are waiting. The credential was passed to nothing that could verify it.
    case busy
    /// The component that verifies credentials was not reached, for example because it refused the connection. The
    /// credential was not passed to it.
    case unreachable
    /// The component that verifies credentials did not respond in time.
    case timedOut = "timed-out"
    /// The component that verifies credentials responded without a result, or failed.
    case failed

    /// Whether the credential may have been passed to the component that verifies it. A client could otherwise try any
    /// number of passwords where a wrong one leads to no result, such as an error of a script, and only the correct one to
    /// a result.
    public var mayHaveVerified: Bool {
        switch self {
        case .busy, .unreachable: false
        case .timedOut, .failed: true
        }
    }
}

/// A credential that a caller presents. Authenticators receive it together with the peer, and never see a header.
public enum Credential: Sendable {
    /// A user name and password of the Basic scheme (RFC 7617).
    case password(user: LoginName, password: Secret)
    /// A bearer token (RFC 6750).
    case bearer(token: Secret)
    /// A client certificate that the listener has verified. The authenticator only decides whose it is.
    case certificate(VerifiedCertificate)

    /// The kind of the credential.
    public var kind: CredentialKind {
        switch self {
        case .password: .password
        case .bearer: .bearer
        case .certificate: .certificate
        }
    }
}

/// The kinds of credential that an authenticator may accept. More may be added.
public enum CredentialKind: String, Sendable, Hashable, CaseIterable {
    /// A user name and password, with the challenge `Basic` (RFC 7617).
    case password
    /// A token, with the challenge `Bearer` (RFC 6750).
    case bearer
    /// A TLS client certificate, which has no challenge. It is used for calls without an `Authorization` field.
    case certificate
}

/// An authenticator with workers or connections of its own that reports their load.
public protocol MeasuredAuthenticator: Authenticator {
    /// The number of workers, connections or waiting logins in each state. Read when metrics are collected, on any
    /// thread; must not block.
    var load: [AuthenticatorLoad] { get }
}

/// The number of an authenticator's workers, connections or logins in one state.
public struct AuthenticatorLoad: Sendable, Hashable {
    /// The state: a word of a closed set that the authenticator defines, such as `busy`, `idle`, `waiting`.
    public let state: String
    /// The number in that state.
    public let count: Int

    /// Creates a load value.
    public init(_ state: String, _ count: Int) {
        self.state = state
        self.count = count
    }
}

/// An authenticator that verifies tokens with keys that it reads from an identity provider.
public protocol ProviderKeyReader: Authenticator {
    /// The keys in use. Read when metrics are collected, on any thread; must not block.
    var providerKeys: ProviderKeyStatus { get }
}

/// The keys of an identity provider that an authenticator uses.
public struct ProviderKeyStatus: Sendable, Hashable {
    /// The provider's issuer identifier.
    public let issuer: String
    /// The number of keys.
    public let count: Int
    /// The start of the last successful reading; nil if the authenticator has no keys.
    public let read: WallTime?
    /// The number of readings that failed.
    public let failures: Int

    /// Creates a status.
    public init(issuer: String, count: Int, read: WallTime?, failures: Int) {
        self.issuer = issuer
        self.count = count
        self.read = read
        self.failures = failures
    }
}

/// An authenticator that is based on files. Logins after a reload use the new contents.
public protocol ReloadableAuthenticator: Authenticator, ReloadableFiles {}

/// A component that is based on files and can reload them while the gateway runs.
public protocol ReloadableFiles: Sendable {
    /// The files whose change triggers a reload.
    var files: [String] { get }

    /// Reads the files again and applies them. If they are invalid, nothing changes and the problems are returned.
    ///
    /// Called when a file has changed and on SIGHUP, on any thread, never concurrently.
    func reload() async -> [ConfigurationProblem]
}
