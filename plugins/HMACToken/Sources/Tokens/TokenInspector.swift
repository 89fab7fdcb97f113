public import GatewayCore
public import GatewaySupport

/// Decodes and verifies tokens for the command `tokens inspect`. Verifies as the authenticator does, but does not
/// know revocations.
public struct TokenInspector: Sendable {
    private let verifier: TokenVerifier

    /// Reads the key file. Blocks.
    ///
    /// - Throws: `ConfigurationError` with every problem of the file.
    public init(_ settings: HMACTokenPlugin.Settings, names: NameRules) throws(ConfigurationError) {
        verifier = TokenVerifier(try KeyRing(settings.keys), settings: settings, names: names)
    }

    /// Decodes a token and verifies it for the given time.
    public func inspect(_ token: Secret, at now: WallTime) -> TokenInspection {
        guard let token = token.withBytes({ CompactToken($0) }) else {
            return TokenInspection(header: nil, claims: nil, result: .failure(.malformed))
        }
        let result: Result<Identity, TokenValidationError>
        do throws(TokenValidationError) {
            result = .success(try verifier.identity(of: token, at: now))
        } catch {
            result = .failure(error)
        }
        return TokenInspection(header: token.header()?.members, claims: token.claims(), result: result)
    }
}

/// The content of a token and the result of its verification.
public struct TokenInspection: Sendable {
    /// The header as written in the token; nil if it is not a JSON object.
    public let header: JSONValue?
    /// The claims as written in the token; nil if they are not a JSON object. Do not trust them unless the
    /// verification succeeded.
    public let claims: JSONValue?
    /// The identity that the token proves, or the reason why it is invalid.
    public let result: Result<Identity, TokenValidationError>
}
