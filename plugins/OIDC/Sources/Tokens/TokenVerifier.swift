internal import GatewayCore
internal import GatewaySupport

/// A result of a verification that other keys may change.
protocol KeyDependentResult: Sendable {
    /// Whether the token names a key that the verifier does not have.
    var isOfUnknownKey: Bool { get }
    /// Whether the keys are the reason why the token was not accepted.
    var mayDifferWithOtherKeys: Bool { get }
}

/// Verifies tokens with one version of the provider's keys (RFC 7519, section 7.2, with RFC 8725).
///
/// The choice of key decides the security of the format, so it is not left to a library: the algorithm comes from the
/// configuration and must be that of the key's type, and the key id selects exactly one key.
final class TokenVerifier: Sendable {
    /// The result of a verification.
    enum Outcome: KeyDependentResult {
        case accepted(Identity)
        case rejected(TokenFault)
        /// The token is of another issuer, or not a token. The reason applies if no other authenticator accepts tokens.
        case foreign(InvalidCredentialReason)
        /// The token is of the configured issuer and its claims are in order, but the set has no key for it. It says
        /// that it was issued at this time.
        case unknownKey(issued: WallTime)

        var isOfUnknownKey: Bool { if case .unknownKey = self { true } else { false } }

        var mayDifferWithOtherKeys: Bool {
            switch self {
            case .unknownKey, .rejected(.signature), .rejected(.ambiguousKey): true
            case .accepted, .rejected, .foreign: false
            }
        }
    }

    let keys: KeySet
    private let rules: ClaimRules
    private let verified = VerifiedTokenCache()

    init(_ keys: KeySet, _ rules: ClaimRules) {
        self.keys = keys
        self.rules = rules
    }

    /// Verifies a token for the given time, with the cache of verified tokens. Safe to call on any thread.
    func verify(_ token: Secret, at now: WallTime) -> Outcome {
        // A text too long for a token is not even hashed.
        guard token.count <= SignedToken.maximumLength else { return .foreign(.malformed) }
        let digest = token.withUnsafeBytes { SHA256.Digest(of: $0) }
        if let digest, let known = verified.find(digest)?.identity(at: now) { return .accepted(known) }
        guard let token = token.withBytes({ SignedToken($0) }) else { return .foreign(.malformed) }
        guard token.claims["iss"]?.string == rules.settings.issuer else { return .foreign(.untrusted) }
        do throws(TokenFault) {
            let header = try TokenHeader(token.header, algorithms: rules.settings.algorithms)
            switch keys.select(header.keyID, for: header.algorithm) {
            case .key(let key):
                try verifySignature(of: token, by: key, header.algorithm)
                let entry = try rules.entry(of: token, at: now)
                if let digest { verified.remember(entry, as: digest) }
                return .accepted(entry.identity)
            case .ambiguous: return .rejected(.ambiguousKey)
            case .unknown:
                // The provider is not queried for a token that would be rejected with any key.
                _ = try rules.entry(of: token, at: now)
                return .unknownKey(issued: WallTime(seconds: try TokenClaims(token.claims).issuedAt))
            }
        } catch {
            return .rejected(error)
        }
    }

    /// Returns the user of a token that the issuer has signed, whatever its other claims are; nil for any other token.
    func user(of token: Secret) -> UserName? {
        guard let token = token.withBytes({ SignedToken($0) }),
            token.claims["iss"]?.string == rules.settings.issuer,
            let header = try? TokenHeader(token.header, algorithms: rules.settings.algorithms),
            case .key(let key) = keys.select(header.keyID, for: header.algorithm),
            key.verifies(token.signature, of: token.signingInput, with: header.algorithm) == true
        else { return nil }
        return try? rules.user(token.claims)
    }

    /// Verifies the ID token of a login for the given time. It is not cached, because it is presented once.
    func verify(_ token: Secret, of login: LoginRules, at now: WallTime) -> Outcome {
        guard let token = token.withBytes({ SignedToken($0) }) else { return .foreign(.malformed) }
        guard token.claims["iss"]?.string == rules.settings.issuer else { return .foreign(.untrusted) }
        do throws(TokenFault) {
            let header = try TokenHeader(
                token.header, algorithms: rules.settings.algorithms, types: LoginRules.types)
            switch keys.select(header.keyID, for: header.algorithm) {
            case .key(let key):
                try verifySignature(of: token, by: key, header.algorithm)
                return .accepted(try login.identity(of: token, rules, at: now))
            case .ambiguous: return .rejected(.ambiguousKey)
            case .unknown:
                _ = try login.identity(of: token, rules, at: now)
                return .unknownKey(issued: WallTime(seconds: try TokenClaims(token.claims).issuedAt))
            }
        } catch {
            return .rejected(error)
        }
    }

    /// The result of verifying a logout token.
    enum LogoutResult: KeyDependentResult {
        case accepted(LogoutRules.Logout)
        case rejected(TokenFault)
        case foreign
        case unknownKey(issued: WallTime)

        var isOfUnknownKey: Bool { if case .unknownKey = self { true } else { false } }

        var mayDifferWithOtherKeys: Bool {
            switch self {
            case .unknownKey, .rejected(.signature), .rejected(.ambiguousKey): true
            case .accepted, .rejected, .foreign: false
            }
        }
    }

    /// Verifies a logout token for the given time, without regard to earlier uses.
    func verifyLogout(_ token: Secret, at now: WallTime) -> LogoutResult {
        guard let token = token.withBytes({ SignedToken($0) }),
            token.claims["iss"]?.string == rules.settings.issuer
        else { return .foreign }
        do throws(TokenFault) {
            let header = try TokenHeader(
                token.header, algorithms: rules.settings.algorithms, types: LogoutRules.types)
            switch keys.select(header.keyID, for: header.algorithm) {
            case .key(let key):
                try verifySignature(of: token, by: key, header.algorithm)
                return .accepted(try LogoutRules(settings: rules.settings).logout(by: token.claims, at: now))
            case .ambiguous: return .rejected(.ambiguousKey)
            case .unknown:
                let logout = try LogoutRules(settings: rules.settings).logout(by: token.claims, at: now)
                return .unknownKey(issued: logout.announced.issued)
            }
        } catch {
            return .rejected(error)
        }
    }

    private func verifySignature(
        of token: SignedToken, by key: PublicKey, _ algorithm: SignatureAlgorithm
    ) throws(TokenFault) {
        switch key.verifies(token.signature, of: token.signingInput, with: algorithm) {
        case true?: return
        case false?: throw .signature
        case nil: throw .libcrypto
        }
    }
}
