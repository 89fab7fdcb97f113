public import GatewayCore

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
}
