internal import GatewayCore
internal import GatewaySupport

/// The rules that the ID token of a login must meet beside those of every token (OpenID Connect Core 1.0, section
/// 3.1.3.7).
struct LoginRules: Sendable {
    /// The values of `typ`. An access token is not a login of this client.
    static let types: Set<String> = ["jwt"]

    /// The client that asked for the token.
    let client: String
    /// The `nonce` of the login.
    let nonce: String
    /// The earliest `auth_time`; nil if any time suffices, and none.
    let provedSince: WallTime?

    /// Checks the claims of a token of the configured issuer, and returns the identity. `at_hash` is ignored, because
    /// the access token is not used.
    func identity(of signed: SignedToken, _ rules: ClaimRules, at now: WallTime) throws(TokenFault) -> Identity {
        let claims = signed.claims
        let token = try TokenClaims(claims)
        guard token.audiences.contains(client) else { throw .audience }
        if token.audiences.count > 1 || claims["azp"] != nil {
            guard claims["azp"]?.string == client else { throw .authorizedParty }
        }
        _ = try rules.period(of: token, claims, at: now)
        guard let found = claims["nonce"]?.string, ConstantTime.equal(Array(found.utf8), Array(nonce.utf8)) else {
            throw .nonce
        }
        if let provedSince {
            let leeway = rules.settings.leeway.components.seconds
            guard let time = claims["auth_time"].flatMap(TokenClaims.seconds),
                time >= provedSince.seconds - leeway, time <= now.seconds + leeway
            else { throw .authenticationTime }
        }
        return try rules.identity(of: signed, token)
    }
}
