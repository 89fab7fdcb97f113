internal import GatewayCore

/// Decides on tokens (RFC 7519, section 7.2, with RFC 8725). Nothing that a token says is believed before its tag is good,
/// but for the key's id, and the algorithm is the key's, never the token's.
final class TokenVerifier: Sendable {
    /// What a token is.
    enum Verdict: Sendable {
        case accepted(Identity)
        case rejected(RejectionReason)
        /// Not issued for this verifier; the reason is for where nobody else is asked.
        case foreign(RejectionReason)
        /// libcrypto failed.
        case undecided
    }

    private let ring: KeyRing
    private let issuer: String
    private let audience: String
    private let names: NameRules

    init(_ ring: KeyRing, settings: HMACTokenPlugin.Settings, names: NameRules) {
        self.ring = ring
        self.issuer = settings.issuer
        self.audience = settings.audience
        self.names = names
    }

    func verify(_ token: Secret, at now: WallTime) -> Verdict {
        guard let token = token.withBytes({ CompactToken($0) }) else { return .foreign(.malformed) }
        let entry: KeyRing.Entry
        if let known = ring.entriesByHeader[token.encodedHeader] {
            entry = known
        } else {
            guard let header = token.header() else { return .foreign(.malformed) }
            guard let named = header.keyID.flatMap({ ring.entries[$0] }) else {
                return claimedIssuer(of: token) == issuer ? .rejected(.untrusted) : .foreign(.untrusted)
            }
            guard header.fits(named.key.algorithm) else { return distrust(token) }
            entry = named
        }
        guard entry.key.isValid(at: now) else { return distrust(token) }
        guard let tag = entry.hmac.tag(over: token.signingInput) else { return .undecided }
        guard ConstantTime.equal(tag, token.tag) else { return distrust(token) }
        guard let claims = token.claims().flatMap(TokenClaims.init) else { return .rejected(.malformed) }
        return judge(claims, under: entry.key, at: now.seconds)
    }

    /// What a good tag is worth.
    private func judge(_ claims: TokenClaims, under key: TokenKey, at now: Int64) -> Verdict {
        let skew = HMACTokenPlugin.skew.components.seconds
        let longest = HMACTokenPlugin.longestLifetime.components.seconds
        guard claims.issuer == issuer, claims.audiences.contains(audience),
            claims.expires > claims.issuedAt, claims.expires - claims.issuedAt <= longest
        else { return .rejected(.untrusted) }
        guard now < claims.expires + skew else { return .rejected(.expired) }
        guard claims.issuedAt <= now + skew, claims.notBefore ?? 0 <= now + skew else { return .rejected(.notYetValid) }
        guard let user = SubjectName.user(claims.subject, names: names) else { return .rejected(.unmapped) }
        guard key.covers(user, in: claims.groups) else { return .rejected(.untrusted) }
        guard let token = Self.reference(claims, under: key) else { return .rejected(.malformed) }
        return .accepted(
            Identity(user: user, groups: claims.groups, authenticator: HMACTokenPlugin.name, token: token))
    }

    /// What revocation knows a token by; nil where it claims a session that is none.
    private static func reference(_ claims: TokenClaims, under key: TokenKey) -> TokenReference? {
        let expires = WallTime(seconds: claims.expires)
        guard key.issues else {
            // Whoever else has the key has sessions of its own, which say nothing here, and a clock of its own: a token from
            // before a revocation must not pass for one from after it.
            let skew = HMACTokenPlugin.skew.components.seconds
            return TokenReference(
                id: claims.id, session: nil, issued: WallTime(seconds: claims.issuedAt - skew), expires: expires)
        }
        let session = claims.session.flatMap(SessionID.init)
        guard claims.session == nil || session != nil else { return nil }
        return TokenReference(
            id: claims.id, session: session, issued: WallTime(seconds: claims.issuedAt), expires: expires)
    }

    /// A token that names one of our keys and is not good under it: another issuer may have a key of the same name.
    private func distrust(_ token: CompactToken) -> Verdict {
        guard let claimed = claimedIssuer(of: token), claimed != issuer else { return .rejected(.untrusted) }
        return .foreign(.untrusted)
    }

    /// Whom an unverified token says it is from: enough to send it to another authenticator, and to nothing else.
    private func claimedIssuer(of token: CompactToken) -> String? { token.claims()?["iss"]?.string }
}
