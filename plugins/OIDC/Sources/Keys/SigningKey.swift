internal import GatewaySupport

/// One key of a JSON Web Key Set that verifies signatures.
struct SigningKey: Sendable {
    /// The permitted lengths of a key id in bytes.
    static let idLength = 1...256

    /// `kid`; nil if the key has none.
    let id: String?
    /// `alg`: the only algorithm of the key; nil for each one that its type allows.
    let algorithm: SignatureAlgorithm?
    let key: PublicKey
    /// The key as it is written in the document.
    let jwk: JSONValue

    /// Whether the key may verify signatures of this algorithm: by its type, its curve and its `alg`.
    func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        key.kind == algorithm.keyKind && (self.algorithm == nil || self.algorithm == algorithm)
    }

    /// Reads a key (RFC 7517, section 4; RFC 7518, section 6; RFC 8037, section 2).
    init(_ jwk: JSONValue) throws(SkippedKey) {
        guard case .object = jwk else { throw SkippedKey(id: nil, .malformed) }
        let id = jwk["kid"]?.string
        func skipped(_ reason: SkippedKey.Reason) -> SkippedKey { SkippedKey(id: id, reason) }
        if jwk["kid"] != nil {
            guard let id, Self.idLength.contains(id.utf8.count) else { throw skipped(.malformed) }
        }
        guard let type = jwk["kty"]?.string else { throw skipped(.malformed) }
        guard ["RSA", "EC", "OKP"].contains(type) else { throw skipped(.otherKind) }
        // Whoever has read the document can sign with such a key.
        guard Self.privateMembers.allSatisfy({ jwk.member(anyCase: $0) == nil }) else { throw skipped(.isPrivate) }
        if let use = jwk["use"], use.string != "sig" { throw skipped(.otherUse) }
        if let operations = jwk["key_ops"] {
            guard case .array(let operations) = operations, operations.contains(.string("verify")) else {
                throw skipped(.otherUse)
            }
        }
        var algorithm: SignatureAlgorithm?
        if let name = jwk["alg"] {
            algorithm = name.string.flatMap(SignatureAlgorithm.init)
            if algorithm == nil { throw skipped(.otherKind) }
        }
        guard let key = try Self.key(type, jwk, skipped) else { throw skipped(.unsafe) }
        if let algorithm, algorithm.keyKind != key.kind { throw skipped(.malformed) }
        self.id = id
        self.algorithm = algorithm
        self.key = key
        self.jwk = jwk
    }

    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// Makes the key; returns nil if it is unsafe.
    private static func key(
        _ type: String, _ jwk: JSONValue, _ skipped: (SkippedKey.Reason) -> SkippedKey
    ) throws(SkippedKey) -> PublicKey? {
        func bytes(_ name: String) throws(SkippedKey) -> [UInt8] {
            guard let text = jwk[name]?.string, let bytes = Base64.decode(Array(text.utf8).span, .url) else {
                throw skipped(.malformed)
            }
            return bytes
        }
        switch (type, jwk["crv"]?.string) {
        case ("RSA", _): return PublicKey.rsa(modulus: try bytes("n"), exponent: try bytes("e"))
        case ("EC", "P-256"): return PublicKey.elliptic(.p256, x: try bytes("x"), y: try bytes("y"))
        case ("EC", "P-384"): return PublicKey.elliptic(.p384, x: try bytes("x"), y: try bytes("y"))
        case ("OKP", "Ed25519"): return PublicKey.ed25519(try bytes("x"))
        default: throw skipped(.otherKind)
        }
    }
}

/// A key of a document that is not used, with the reason.
struct SkippedKey: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason why a key is not used.
    enum Reason: String, Sendable, Hashable {
        case malformed = "is malformed"
        case otherKind = "is of a kind that verifies no tokens here"
        case otherUse = "is not for verifying signatures"
        case isPrivate = "contains its private part, so everybody can sign with it"
        case unsafe = "is too weak or not valid"
    }

    /// `kid`; nil if the key has none.
    let id: String?
    let reason: Reason

    init(id: String?, _ reason: Reason) {
        self.id = id
        self.reason = reason
    }

    /// Whether the provider has made a mistake. A key for another purpose is none.
    var isMistake: Bool { reason != .otherKind && reason != .otherUse }

    /// A sentence for the log.
    var description: String { "key \(id.map { "\"\($0.prefix(64))\"" } ?? "without id") \(reason.rawValue)" }
}
