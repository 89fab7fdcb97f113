/// An authenticator that also issues what it accepts: for `POST /auth/token`.
public protocol TokenIssuer: Authenticator {
    /// How long after the password a session ends.
    var sessionLifetime: Duration { get }

    /// Issues a token of the session, good for as long as tokens here are, and no longer than the session.
    ///
    /// Some microseconds long, on the call's loop.
    func issue(
        for user: UserName, groups: Set<GroupName>, in session: Session, now: WallTime
    ) throws(IssueFault)
        -> IssuedToken
}

/// Why no token was issued.
public struct IssueFault: Error, Sendable, Hashable {
    /// For the log.
    public let detail: String
    /// Whether a token for this user could be issued at another time, or with other keys.
    public let isTemporary: Bool

    /// A fault as the issuer describes it.
    public init(_ detail: String, isTemporary: Bool) {
        self.detail = detail
        self.isTemporary = isTemporary
    }
}

/// A fresh token, and what its issuer should tell or note of it.
public struct IssuedToken: Sendable {
    /// The token, ASCII; whoever holds it is its user.
    public let token: Secret
    /// When it ends (`exp`), whole seconds.
    public let expires: WallTime
    /// Its own id (`jti`).
    public let id: String
    /// The id of the key that signed it (`kid`).
    public let key: String

    /// A token from its parts.
    public init(token: Secret, expires: WallTime, id: String, key: String) {
        self.token = token
        self.expires = expires
        self.id = id
        self.key = key
    }
}
