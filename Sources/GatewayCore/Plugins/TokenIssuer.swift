public import GatewaySupport

/// An authenticator that also issues the tokens that it accepts, for `POST /auth/token`.
public protocol TokenIssuer: Authenticator {
    /// The time from the login by password until the session expires.
    var sessionLifetime: Duration { get }

    /// Issues a token of the session. The token expires after the issuer's token lifetime, and not later than the
    /// session.
    ///
    /// Called on the event loop of the call; must take only some microseconds.
    func issue(
        for user: UserName, groups: Set<GroupName>, in session: Session, now: WallTime
    ) throws(TokenIssueError)
        -> IssuedToken
}

/// The reason why no token was issued.
public struct TokenIssueError: Error, Sendable, Hashable {
    /// The detail for the log.
    public let detail: String
    /// Whether a token for this user could be issued later, or with other keys.
    public let isTemporary: Bool

    /// Creates an error.
    public init(_ detail: String, isTemporary: Bool) {
        self.detail = detail
        self.isTemporary = isTemporary
    }
}

/// A new token with the data for the response and the journal.
public struct IssuedToken: Sendable {
    /// The token in ASCII. It authenticates its holder as the user.
    public let token: Secret
    /// The expiry time (`exp`), in whole seconds.
    public let expires: WallTime
    /// The id of the token (`jti`).
    public let id: String
    /// The id of the signing key (`kid`).
    public let key: String

    /// Creates an issued token.
    public init(token: Secret, expires: WallTime, id: String, key: String) {
        self.token = token
        self.expires = expires
        self.id = id
        self.key = key
    }
}
