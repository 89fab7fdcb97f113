public import GatewayCore

/// Takes tokens apart for people: what `tokens inspect` works with. Judges exactly as the authenticator does, except that it
/// knows of no revocation.
public struct TokenInspector: Sendable {
    private let verifier: TokenVerifier

    /// Reads the key file. Blocks.
    ///
    /// - Throws: everything that is wrong with it.
    public init(_ settings: HMACTokenPlugin.Settings, names: NameRules) throws(ConfigurationFault) {
        verifier = TokenVerifier(try KeyRing(settings.keys), settings: settings, names: names)
    }

    /// What a token says, and what it is worth at that moment.
    public func inspect(_ token: Secret, at now: WallTime) -> TokenInspection {
        guard let token = token.withBytes({ CompactToken($0) }) else {
            return TokenInspection(header: nil, claims: nil, verdict: .failure(.malformed))
        }
        let verdict: Result<Identity, TokenFault>
        do throws(TokenFault) {
            verdict = .success(try verifier.identity(of: token, at: now))
        } catch {
            verdict = .failure(error)
        }
        return TokenInspection(header: token.header()?.members, claims: token.claims(), verdict: verdict)
    }
}

/// What a token says, and what it is worth.
public struct TokenInspection: Sendable {
    /// Its header, as it stands there; nil where it is no JSON object.
    public let header: JSONValue?
    /// Its claims, as they stand there; nil where they are no JSON object. Worth nothing unless the verdict is good.
    public let claims: JSONValue?
    /// Whom it is good for, or why it is not.
    public let verdict: Result<Identity, TokenFault>
}
