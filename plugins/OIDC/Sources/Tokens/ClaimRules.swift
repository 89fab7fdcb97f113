internal import GatewayCore
internal import GatewaySupport

/// The rules that the claims of a token must meet, and the identity that they give.
struct ClaimRules: Sendable {
    let settings: OIDCPlugin.Settings
    let names: NameRules

    /// Checks the claims of a token of the configured issuer, and returns its identity.
    func entry(of signed: SignedToken, at now: WallTime) throws(TokenFault) -> VerifiedTokenCache.Entry {
        let token = try TokenClaims(signed.claims)
        guard token.audiences.contains(settings.audience) else { throw .audience }
        let period = try period(of: token, signed.claims, at: now)
        if !settings.clients.isEmpty {
            guard let client = token.client, settings.clients.contains(client) else { throw .authorizedParty }
        }
        guard token.scopes.isSuperset(of: settings.scopes) else { throw .scope }
        return VerifiedTokenCache.Entry(identity: try identity(of: signed, token), period: period)
    }

    /// Checks that the claims are those of a login that is valid now, and returns the time in which it is valid.
    func period(of token: TokenClaims, _ claims: JSONValue, at now: WallTime) throws(TokenFault) -> Range<WallTime> {
        // A logout token has the same issuer, audience and keys as a login (OpenID Connect Back-Channel Logout 1.0,
        // section 2.4).
        guard claims["events"] == nil else { throw .type }
        guard claims["cnf"] == nil else { throw .boundToClient }
        // A revocation of the user is remembered for as long.
        let lifetime = token.expires - token.issuedAt
        guard lifetime > 0, lifetime <= OIDCPlugin.maximumLifetime.components.seconds else { throw .lifetime }
        let period = period(of: token)
        guard now < period.upperBound else { throw .expired }
        guard now >= period.lowerBound else { throw .notYetValid }
        return period
    }

    /// Returns the identity of a token whose other claims are in order.
    func identity(of signed: SignedToken, _ token: TokenClaims) throws(TokenFault) -> Identity {
        let claims = signed.claims
        let user = try self.user(claims)
        guard let subject = try LogoutRules.text("sub", claims) else { throw .claim("sub") }
        let login = ProviderLogin(
            issuer: settings.issuer, subject: subject, session: try LogoutRules.text("sid", claims))
        return Identity(
            user: user, groups: groups(claims), authenticator: OIDCPlugin.name,
            token: reference(to: signed, token, login))
    }

    /// Returns the time in which the token is valid, widened by the leeway.
    private func period(of token: TokenClaims) -> Range<WallTime> {
        let leeway = settings.leeway.components.seconds
        let start = max(token.issuedAt, token.notBefore ?? 0) - leeway
        // A token that expires before it starts is never valid.
        return WallTime(seconds: start)..<WallTime(seconds: max(start, token.expires + leeway))
    }

    /// Returns the user whom the claims name.
    func user(_ claims: JSONValue) throws(TokenFault) -> UserName {
        guard let text = claims[settings.userClaim]?.string else { throw .claim(settings.userClaim) }
        // Whoever may choose an address at the provider could otherwise choose the account of somebody else.
        if settings.userClaim == "email", claims["email_verified"] != .bool(true) { throw .unverifiedEmail }
        // `sub` is compared with case (OpenID Connect Core 1.0, section 2). Folding could merge two subjects.
        if settings.userClaim == "sub", text.utf8.contains(where: { $0 != $0.asciiLowercased }) { throw .unmapped }
        guard let user = names.unambiguousCanonical(LoginName(text)) else { throw .unmapped }
        return user
    }

    /// Returns the groups. Texts that are not group names are dropped.
    private func groups(_ claims: JSONValue) -> Set<GroupName> {
        Set((claims[settings.groupsClaim].flatMap(TokenClaims.words) ?? []).compactMap(GroupName.init))
    }

    /// Returns the token's reference for revocation.
    private func reference(to signed: SignedToken, _ token: TokenClaims, _ login: ProviderLogin) -> TokenReference {
        // The provider's clock may be ahead of ours, so a token from before a revocation must not pass as one from
        // after it.
        let issued = token.issuedAt - settings.leeway.components.seconds
        return TokenReference(
            id: token.id.flatMap(Self.usableID) ?? signed.digestID, session: nil, issued: WallTime(seconds: issued),
            expires: WallTime(seconds: token.expires), provider: login)
    }

    /// Returns an id of 1–128 bytes of visible ASCII, or nil.
    private static func usableID(_ id: String) -> String? {
        (1...128).contains(id.utf8.count) && id.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? id : nil
    }
}
