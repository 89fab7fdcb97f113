/// Which token was presented, as far as its issuer says: never the token itself.
public struct TokenReference: Sendable, Hashable {
    /// Its own id (`jti`, RFC 7519, section 4.1.7).
    public let id: String
    /// The session that it belongs to; nil for a token that was not got with a password here.
    public let session: SessionID?
    /// When it was issued (`iat`), whole seconds.
    public let issued: WallTime
    /// When it ends (`exp`), whole seconds.
    public let expires: WallTime

    /// A reference from its parts.
    public init(id: String, session: SessionID?, issued: WallTime, expires: WallTime) {
        self.id = id
        self.session = session
        self.issued = issued
        self.expires = expires
    }
}

/// Which tokens have been taken back. In memory, and asked on the way of every call with a token.
public protocol RevocationList: Sendable {
    /// Whether the token is of no more worth: it was revoked itself, its session has ended or was never here, or it is without
    /// one and its user was revoked after it was issued. Some look-ups long, on any thread.
    func isRevoked(_ token: TokenReference, of user: UserName) -> Bool

    /// The groups that the token's account is in now; nil where no authenticator tells. The token is worth no group beyond these.
    /// Some look-ups long, on any thread.
    func groups(behind token: TokenReference, of user: UserName) -> Set<GroupName>?
}

extension RevocationList {
    /// Nobody tells.
    public func groups(behind token: TokenReference, of user: UserName) -> Set<GroupName>? { nil }
}

/// A list on which nothing is: for tests, and for looking at tokens away from a gateway.
public struct NothingRevoked: RevocationList {
    /// An empty list.
    public init() {}

    /// Never.
    public func isRevoked(_ token: TokenReference, of user: UserName) -> Bool { false }
}
