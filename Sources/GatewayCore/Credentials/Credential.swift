public import GatewaySupport

/// A credential that a caller presents. Authenticators receive it together with the peer, and never see a header.
public enum Credential: Sendable {
    /// A user name and password of the Basic scheme (RFC 7617).
    case password(user: LoginName, password: Secret)
    /// A bearer token (RFC 6750).
    case bearer(token: Secret)

    /// The kind of the credential.
    public var kind: CredentialKind {
        switch self {
        case .password: .password
        case .bearer: .bearer
        }
    }
}

/// The kinds of credential that an authenticator may accept. More may be added.
public enum CredentialKind: String, Sendable, Hashable, CaseIterable {
    /// A user name and password, with the challenge `Basic` (RFC 7617).
    case password
    /// A token, with the challenge `Bearer` (RFC 6750).
    case bearer
}
