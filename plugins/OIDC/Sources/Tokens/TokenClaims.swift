internal import GatewayCore
internal import GatewaySupport

/// The claims of a token that the rules need, converted to their types (RFC 7519, section 4.1).
struct TokenClaims {
    let audiences: [String]
    /// `exp`, `nbf` and `iat` in whole seconds since the epoch, rounded down.
    let expires: Int64
    let notBefore: Int64?
    let issuedAt: Int64
    /// `jti`; nil if the token has none.
    let id: String?
    /// `azp`, or `client_id` as in RFC 9068.
    let client: String?
    let scopes: Set<String>

    /// Reads the claims. Throws for a claim of the wrong type.
    init(_ claims: JSONValue) throws(TokenFault) {
        guard let audiences = claims["aud"].flatMap(Self.texts) else { throw .claim("aud") }
        self.audiences = audiences
        guard let expires = claims["exp"].flatMap(Self.seconds) else { throw .claim("exp") }
        self.expires = expires
        notBefore = try Self.optional("nbf", claims, Self.seconds)
        guard let issuedAt = claims["iat"].flatMap(Self.seconds) else { throw .claim("iat") }
        self.issuedAt = issuedAt
        id = try Self.optional("jti", claims, \.string)
        let (party, client) = (
            try Self.optional("azp", claims, \.string), try Self.optional("client_id", claims, \.string)
        )
        self.client = party ?? client
        // Okta and Entra ID write `scp`.
        let (scope, scp) = (
            try Self.optional("scope", claims, Self.words), try Self.optional("scp", claims, Self.words)
        )
        scopes = Set(scope ?? scp ?? [])
    }

    /// Returns a claim that may be absent. Throws if it is present with another type.
    private static func optional<Value>(
        _ name: String, _ claims: JSONValue, _ read: (JSONValue) -> Value?
    ) throws(TokenFault) -> Value? {
        guard let claim = claims[name] else { return nil }
        guard let value = read(claim) else { throw .claim(name) }
        return value
    }

    /// Returns one text or a list of texts.
    static func texts(_ claim: JSONValue) -> [String]? {
        switch claim {
        case .string(let text): return [text]
        case .array(let values):
            let texts = values.compactMap(\.string)
            return texts.count == values.count ? texts : nil
        case .null, .bool, .number, .object: return nil
        }
    }

    /// Returns a list of texts, or the words of a text with spaces between them, as in `scope`.
    static func words(_ claim: JSONValue) -> [String]? {
        if case .string(let text) = claim { return text.split(separator: " ").map(String.init) }
        return texts(claim)
    }

    /// Reads a NumericDate (RFC 7519, section 2) up to the year 9999, without an exponent.
    static func seconds(_ claim: JSONValue) -> Int64? {
        guard case .number(let text) = claim else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = Int64(parts[0]), parts.dropFirst().allSatisfy({ $0.utf8.allSatisfy(\.isASCIIDigit) }),
            (0...253_402_300_799).contains(whole)
        else { return nil }
        return whole
    }
}
