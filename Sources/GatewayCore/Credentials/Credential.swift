/// What a caller presents to show who it is. Authenticators see this and the peer, never a header.
public enum Credential: Sendable {
    /// User and password of the Basic scheme (RFC 7617).
    case password(user: LoginName, password: Secret)
    /// A bearer token (RFC 6750).
    case bearer(token: Secret)

    /// Which kind this is.
    public var kind: CredentialKind {
        switch self {
        case .password: .password
        case .bearer: .bearer
        }
    }
}

/// The kinds of credential that an authenticator may take. The set may grow.
public enum CredentialKind: String, Sendable, Hashable, CaseIterable {
    /// User and password: challenged as `Basic` (RFC 7617).
    case password
    /// A token: challenged as `Bearer` (RFC 6750).
    case bearer
}
