internal import GatewayCore
internal import GatewaySupport

/// The rules that the claims of a logout token must meet (OpenID Connect Back-Channel Logout 1.0, sections 2.4 and 2.6).
struct LogoutRules: Sendable {
    /// The member of `events` that makes a token a logout token.
    static let event = "http://schemas.openid.net/event/backchannel-logout"
    /// The values of `typ`: that of the specification, and that of providers from before it.
    static let types: Set<String> = ["logout+jwt", "jwt"]
    /// The maximum age of a token. Its `jti` is remembered for as long.
    static let maximumAge = Duration.seconds(300)

    let settings: OIDCPlugin.Settings

    /// A valid logout token.
    struct Logout: Sendable {
        let announced: ProviderLogout
        /// `jti`, by which a repeated token is recognised.
        let id: String
        /// The time after which the token is not accepted any more.
        let ends: WallTime
    }

    /// Checks the claims of a token of the configured issuer.
    func logout(by claims: JSONValue, at now: WallTime) throws(TokenFault) -> Logout {
        let leeway = settings.leeway.components.seconds
        guard let audience = settings.logoutAudience, let audiences = claims["aud"].flatMap(TokenClaims.texts),
            audiences.contains(audience)
        else { throw .audience }
        guard case .object = claims["events"]?[Self.event] else { throw .claim("events") }
        // An identity token has a nonce and must not pass for a logout token.
        guard claims["nonce"] == nil else { throw .claim("nonce") }
        guard let issued = claims["iat"].flatMap(TokenClaims.seconds) else { throw .claim("iat") }
        guard let id = claims["jti"]?.string, (1...ProviderLogin.maximumLength).contains(id.utf8.count) else {
            throw .claim("jti")
        }
        var end = issued + Self.maximumAge.components.seconds
        if let expires = claims["exp"] {
            guard let expires = TokenClaims.seconds(expires) else { throw .claim("exp") }
            end = min(end, expires)
        }
        guard issued - leeway <= now.seconds else { throw .notYetValid }
        guard now.seconds < end + leeway else { throw .expired }
        let (session, subject) = (try Self.text("sid", claims), try Self.text("sub", claims))
        let targets: Set<ProviderLogout.Target>
        switch (session, subject) {
        case (let session?, let subject?): targets = [.session(session), .subjectWithoutSession(subject)]
        case (let session?, nil): targets = [.session(session)]
        case (nil, let subject?): targets = [.subject(subject)]
        case (nil, nil): throw .claim("sub")
        }
        return Logout(
            announced: ProviderLogout(
                issuer: settings.issuer, targets: targets, issued: WallTime(seconds: issued - leeway)),
            id: id, ends: WallTime(seconds: end + leeway))
    }

    /// Returns a claim that may be absent. Throws if it is no text of a usable length.
    static func text(_ name: String, _ claims: JSONValue) throws(TokenFault) -> String? {
        guard let claim = claims[name] else { return nil }
        guard let text = claim.string, (1...ProviderLogin.maximumLength).contains(text.utf8.count) else {
            throw .claim(name)
        }
        return text
    }
}
