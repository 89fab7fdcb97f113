internal import GatewayCore
internal import GatewaySupport

/// Verifies tokens (RFC 7519, section 7.2, with RFC 8725). Before the signature is verified only the key id in a
/// token is used; the algorithm is the key's, never the token's.
///
/// Written for the gateway instead of taken from a library for two reasons. The choice of key decides the security of
/// the format, and it is in one function here. And a send is too cheap for general decoding: a whole send takes 7.4 µs
/// in the microbenchmark `serve-a-send`. A token that is verified up to its signature, and whose issuer is then read,
/// takes
/// 4.1 µs and 30 allocations (`verify-a-forged-token`), and would take about 3 µs more without the table of usual
/// headers (`JoseHeader`). `VerifiedTokenCache` saves nearly all of it. The figures are the thresholds in
/// `Tests/Benchmarks/Micro/Thresholds`. The full verification of a valid token has no benchmark of its own, and no
/// library was measured.
final class TokenVerifier: Sendable {
    /// The result of a verification.
    enum Outcome: Sendable {
        case accepted(Identity)
        case rejected(InvalidCredentialReason)
        /// The token was not issued for this verifier. The reason applies if no other authenticator accepts tokens.
        case foreign(InvalidCredentialReason)
        /// libcrypto failed.
        case undecided
    }

    private let ring: KeyRing
    private let issuer: String
    private let audience: String
    private let names: NameRules
    private let verified = VerifiedTokenCache()

    init(_ ring: KeyRing, settings: HMACTokenPlugin.Settings, names: NameRules) {
        self.ring = ring
        self.issuer = settings.issuer
        self.audience = settings.audience
        self.names = names
    }

    /// Verifies a token for the given time, with the cache of verified tokens. Safe to call on any thread.
    func verify(_ token: Secret, at now: WallTime) -> Outcome {
        // A text too long for a token is not even hashed.
        guard token.count <= CompactToken.maximumLength else { return .foreign(.malformed) }
        let digest = token.withUnsafeBytes { SHA256.Digest(of: $0) }
        if let digest, let known = verified.find(digest)?.identity(at: now) { return .accepted(known) }
        guard let token = token.withBytes({ CompactToken($0) }) else { return .foreign(.malformed) }
        do throws(TokenValidationError) {
            let entry = try self.entry(of: token, at: now)
            if let digest { verified.remember(entry, as: digest) }
            return .accepted(entry.identity)
        } catch {
            return verdict(on: error, in: token)
        }
    }

    /// Returns the identity that the token proves, without the cache of verified tokens.
    func identity(of token: CompactToken, at now: WallTime) throws(TokenValidationError) -> Identity {
        try entry(of: token, at: now).identity
    }

    /// Returns the user of a token with a valid signature, whatever its other claims are; nil for any other token.
    func user(of token: CompactToken, at now: WallTime) -> UserName? {
        guard let (claims, _) = try? signedClaims(of: token, at: now) else { return nil }
        return names.user(canonical: claims.subject)
    }

    private func entry(
        of token: CompactToken, at now: WallTime
    ) throws(TokenValidationError) -> VerifiedTokenCache.Entry {
        let (claims, key) = try signedClaims(of: token, at: now)
        let identity = try identity(claimedBy: claims, under: key, at: now.seconds)
        return VerifiedTokenCache.Entry(identity: identity, period: Self.period(of: claims, under: key))
    }

    /// Returns the claims of a token with a valid signature, and its key.
    private func signedClaims(
        of token: CompactToken, at now: WallTime
    ) throws(TokenValidationError) -> (TokenClaims, TokenKey) {
        let entry: KeyRing.Entry
        if let known = ring.entriesByHeader[token.encodedHeader] {
            entry = known
        } else {
            guard let header = token.header() else { throw .unreadableHeader }
            guard let id = header.keyID else { throw .missingKeyID }
            guard let named = ring.entries[id] else { throw .unknownKey(id) }
            guard header.isAcceptable(for: named.key.algorithm) else { throw .unacceptableHeader(key: id) }
            entry = named
        }
        guard entry.key.isValid(at: now) else { throw .keyNotValid(key: entry.key.id) }
        guard let expected = entry.hmac.tag(over: token.signingInput) else { throw .failed }
        guard ConstantTime.equal(expected, token.signature) else { throw .wrongSignature(key: entry.key.id) }
        guard let claims = token.claims().flatMap(TokenClaims.init) else { throw .unreadableClaims }
        return (claims, entry.key)
    }

    /// Checks the claims of a token with a valid signature and returns its identity.
    private func identity(
        claimedBy claims: TokenClaims, under key: TokenKey, at now: Int64
    ) throws(TokenValidationError) -> Identity {
        let longest = HMACTokenPlugin.maximumLifetime.components.seconds
        let period = Self.period(of: claims)
        guard claims.issuer == issuer else { throw .issuerMismatch(configured: issuer) }
        guard claims.audiences.contains(audience) else { throw .audienceMismatch(configured: audience) }
        guard claims.expires > claims.issuedAt, claims.expires - claims.issuedAt <= longest else { throw .lifetime }
        guard now < period.upperBound else { throw .expired }
        guard now >= period.lowerBound else { throw .notYetValid }
        guard let user = names.user(canonical: claims.subject) else { throw .unmapped }
        guard key.covers(user, in: claims.groups) else { throw .keyNotAuthorized(key: key.id) }
        guard let token = Self.reference(claims, under: key) else { throw .invalidSessionID }
        return Identity(user: user, groups: claims.groups, authenticator: HMACTokenPlugin.name, token: token)
    }

    /// Returns the seconds in which the token is valid, widened by the clock skew.
    private static func period(of claims: TokenClaims) -> Range<Int64> {
        let skew = HMACTokenPlugin.skew.components.seconds
        let start = max(claims.issuedAt, claims.notBefore ?? 0) - skew
        // A token that expires before it starts is never valid.
        return start..<max(start, claims.expires + skew)
    }

    /// Returns the time in which the token and its key are valid. The clock skew widens that of the token.
    private static func period(of claims: TokenClaims, under key: TokenKey) -> Range<WallTime> {
        let seconds = period(of: claims)
        let start = max(WallTime(seconds: seconds.lowerBound), key.notBefore ?? WallTime(seconds: .min))
        let end = min(WallTime(seconds: seconds.upperBound), key.notAfter ?? WallTime(seconds: .max))
        return start..<max(start, end)
    }

    /// Returns the token's reference for revocation; nil if `sid` is not a session id.
    private static func reference(_ claims: TokenClaims, under key: TokenKey) -> TokenReference? {
        let expires = WallTime(seconds: claims.expires)
        guard key.mayIssueTokens else {
            // Another issuer holds this key. Its sessions are unknown here, and its clock may be ahead of ours, so a
            // token from before a revocation must not pass as one from after it.
            let skew = HMACTokenPlugin.skew.components.seconds
            return TokenReference(
                id: claims.id, session: nil, issued: WallTime(seconds: claims.issuedAt - skew), expires: expires)
        }
        let session = claims.session.flatMap(SessionID.init)
        guard claims.session == nil || session != nil else { return nil }
        return TokenReference(
            id: claims.id, session: session, issued: WallTime(seconds: claims.issuedAt), expires: expires)
    }

    /// Returns whether an invalid token is rejected here or may belong to another authenticator.
    func verdict(on fault: TokenValidationError, in token: CompactToken) -> Outcome {
        switch fault {
        case .malformed, .unreadableHeader:
            .foreign(fault.reason)
        case .missingKeyID, .unknownKey:
            claimedIssuer(of: token) == issuer ? .rejected(fault.reason) : .foreign(fault.reason)
        case .unacceptableHeader, .keyNotValid, .wrongSignature:
            // The token names one of our keys, but another issuer may use the same key id.
            claimedIssuer(of: token) ?? issuer == issuer ? .rejected(fault.reason) : .foreign(fault.reason)
        case .failed:
            .undecided
        case .unreadableClaims, .issuerMismatch, .audienceMismatch, .lifetime, .expired, .notYetValid, .unmapped,
            .keyNotAuthorized,
            .invalidSessionID:
            .rejected(fault.reason)
        }
    }

    /// Returns the issuer that an unverified token claims. Used only to decide whether another authenticator may
    /// receive the token.
    private func claimedIssuer(of token: CompactToken) -> String? { token.claims()?["iss"]?.string }
}
