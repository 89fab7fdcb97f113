public import GatewaySupport

/// The identifying claims of a presented token, without the token itself.
public struct TokenReference: Sendable, Hashable {
    /// The id of the token (`jti`, RFC 7519, section 4.1.7).
    public let id: String
    /// The session of the token; nil for a token that was not obtained by a login at this gateway.
    public let session: SessionID?
    /// The time of issue (`iat`), in whole seconds.
    public let issued: WallTime
    /// The expiry time (`exp`), in whole seconds.
    public let expires: WallTime
    /// The login at an identity provider that the token proves; nil for a token of this gateway. Such a token begins a
    /// session, as a password does.
    public let provider: ProviderLogin?

    /// Creates a reference.
    public init(
        id: String, session: SessionID?, issued: WallTime, expires: WallTime, provider: ProviderLogin? = nil
    ) {
        self.provider = provider
        self.id = id
        self.session = session
        self.issued = issued
        self.expires = expires
    }
}

/// A list of revoked tokens. Held in memory and queried for every call with a token.
public protocol RevocationList: Sendable {
    /// Returns whether the token is no longer valid. That is so if it was revoked, if its session is closed or unknown
    /// here, or if it has no session and its user was revoked after the time of issue. Costs some look-ups; safe on any
    /// thread.
    func isRevoked(_ token: TokenReference, of user: UserName) -> Bool

    /// Returns whether a token that counts as revoked may be valid: its session may have begun at another gateway of the
    /// same store so recently that it is not known here. `refresh` then decides. If not, the session may have become known
    /// since `isRevoked` was asked, so ask that again. Costs a look-up; safe on any thread.
    func mayHaveBegunElsewhere(_ token: TokenReference) -> Bool

    /// Reads what other gateways of the same store have changed until now.
    ///
    /// - Returns: False if the store cannot be read.
    func refresh() async -> Bool

    /// Returns the current groups of the token's account; nil if they are unknown. The token grants no group beyond
    /// these. Costs some look-ups; safe on any thread.
    func groups(behind token: TokenReference, of user: UserName) -> Set<GroupName>?
}

extension RevocationList {
    /// Returns false: there is no other gateway.
    public func mayHaveBegunElsewhere(_ token: TokenReference) -> Bool { false }

    /// Returns true: there is no other gateway.
    public func refresh() async -> Bool { true }

    /// Returns nil: the groups are unknown.
    public func groups(behind token: TokenReference, of user: UserName) -> Set<GroupName>? { nil }
}

/// An empty revocation list, for tests and for inspecting tokens without a running gateway.
public struct EmptyRevocationList: RevocationList {
    /// Creates an empty list.
    public init() {}

    /// Returns false for every token.
    public func isRevoked(_ token: TokenReference, of user: UserName) -> Bool { false }
}
