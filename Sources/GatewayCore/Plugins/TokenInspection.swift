public import GatewaySupport

/// An authenticator that can show the content of its tokens, for the commands `tokens inspect` and
/// `explain --as-token`, and for the record of a failed login.
public protocol InspectingAuthenticator: Authenticator {
    /// Returns the user of a token that `authenticate` rejected although its signature is valid, such as an expired one; nil
    /// if the signature is not valid. Must not suspend.
    func user(ofRejected token: Secret) -> UserName?

    /// Decodes a token and verifies it as `authenticate` does, except for revocation. Not called for requests.
    ///
    /// - Returns: nil if the token belongs to another authenticator.
    func inspect(_ token: Secret) async -> TokenInspection?
}

/// The content of a token and the result of its verification.
public struct TokenInspection: Sendable {
    /// The result of a verification, with details for an operator.
    public enum Result: Sendable, Hashable {
        /// The token proves this identity.
        case valid(Identity)
        /// The token is invalid. The detail is a clause that says why, without a full stop.
        case invalid(InvalidCredentialReason, detail: String)
        /// The token cannot be verified now. The detail is a clause that says why, without a full stop.
        case undecided(OutageReason, detail: String)
    }

    /// The header as written in the token; nil if it is not a JSON object or the authenticator cannot show it.
    public let header: JSONValue?
    /// The claims as written in the token; nil if they are not a JSON object or the authenticator cannot show them. Do
    /// not trust them unless the result is `valid`.
    public let claims: JSONValue?
    /// The result.
    public var result: Result

    /// Creates an inspection.
    public init(header: JSONValue? = nil, claims: JSONValue? = nil, result: Result) {
        self.header = header
        self.claims = claims
        self.result = result
    }
}

/// The result of presenting a token to all authenticators of a configuration.
public struct TokenLookup: Sendable {
    /// The authenticator that decided; nil if the token belongs to none.
    public let authenticator: PluginName?
    /// The content of the token, and the result, which includes revocation and the scope of the authenticator.
    public var inspection: TokenInspection

    /// Creates a lookup.
    public init(authenticator: PluginName?, inspection: TokenInspection) {
        self.authenticator = authenticator
        self.inspection = inspection
    }
}
