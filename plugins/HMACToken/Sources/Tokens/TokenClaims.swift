internal import GatewayCore
internal import GatewaySupport

/// The claims of a token with a valid signature (RFC 7519, section 4.1), converted to their types.
struct TokenClaims {
    let issuer: String
    let audiences: [String]
    let subject: String
    let id: String
    /// `sid`: the session, as named by the token's issuer.
    let session: String?
    let groups: Set<GroupName>
    /// `iat`: whole seconds since the epoch, rounded down.
    let issuedAt: Int64
    let expires: Int64
    let notBefore: Int64?

    /// Reads the claims; returns nil if a required claim is missing or a claim has the wrong type.
    init?(_ claims: JSONValue) {
        guard let issuer = claims["iss"]?.string, let subject = claims["sub"]?.string,
            let audiences = claims["aud"].flatMap(Self.audiences), let id = claims["jti"]?.string, Self.isID(id),
            let issuedAt = claims["iat"].flatMap(Self.seconds), let expires = claims["exp"].flatMap(Self.seconds)
        else { return nil }
        self.issuer = issuer
        self.subject = subject
        self.id = id
        if let claim = claims["sid"] {
            guard let session = claim.string else { return nil }
            self.session = session
        } else {
            session = nil
        }
        self.audiences = audiences
        self.issuedAt = issuedAt
        self.expires = expires
        if let claim = claims["nbf"] {
            guard let notBefore = Self.seconds(claim) else { return nil }
            self.notBefore = notBefore
        } else {
            notBefore = nil
        }
        if let claim = claims["groups"] {
            guard let groups = Self.groups(claim) else { return nil }
            self.groups = groups
        } else {
            groups = []
        }
    }

    private static func audiences(_ claim: JSONValue) -> [String]? {
        switch claim {
        case .string(let audience): return [audience]
        case .array(let values):
            let audiences = values.compactMap(\.string)
            return audiences.count == values.count ? audiences : nil
        case .null, .bool, .number, .object: return nil
        }
    }

    private static func groups(_ claim: JSONValue) -> Set<GroupName>? {
        guard case .array(let values) = claim else { return nil }
        let groups = values.compactMap { $0.string.flatMap(GroupName.init) }
        return groups.count == values.count ? Set(groups) : nil
    }

    /// Whether the text is 1–128 bytes of visible ASCII.
    private static func isID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Reads a NumericDate (RFC 7519, section 2) up to the year 9999, without an exponent.
    private static func seconds(_ claim: JSONValue) -> Int64? {
        guard case .number(let text) = claim else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = Int64(parts[0]), parts.dropFirst().allSatisfy({ $0.utf8.allSatisfy(\.isASCIIDigit) }),
            (0...253_402_300_799).contains(whole)
        else { return nil }
        return whole
    }
}
