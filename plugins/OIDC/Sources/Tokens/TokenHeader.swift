internal import GatewaySupport

/// The JOSE header of an unverified token (RFC 7515, section 4), checked against what the gateway accepts.
///
/// Only `alg`, `kid` and `typ` are read. `jwk`, `jku`, `x5u` and `x5c` would let the token choose its own key; they are
/// never used.
struct TokenHeader {
    let algorithm: SignatureAlgorithm
    /// `kid`; nil if the header has none.
    let keyID: String?

    /// Checks a header.
    ///
    /// - Parameter types: The media types that `typ` may name, in lower case and without `application/`.
    init(
        _ members: JSONValue, algorithms: Set<SignatureAlgorithm>, types: Set<String> = Self.types
    ) throws(TokenFault) {
        guard let algorithm = members["alg"]?.string.flatMap(SignatureAlgorithm.init), algorithms.contains(algorithm)
        else { throw .algorithm }
        guard Self.forbidden.allSatisfy({ members.member(anyCase: $0) == nil }) else { throw .forbiddenParameter }
        if let type = members.member(anyCase: "typ") {
            guard let name = type.string?.asciiLowercased else { throw .type }
            let subtype = name.hasPrefix("application/") ? String(name.dropFirst("application/".count)) : name
            guard types.contains(subtype) else { throw .type }
        }
        if let id = members["kid"] {
            guard let id = id.string, SigningKey.idLength.contains(id.utf8.count) else { throw .keyID }
            keyID = id
        } else {
            keyID = nil
        }
        self.algorithm = algorithm
    }

    /// The types of access tokens (RFC 9068, section 2.1) and of tokens in general.
    static let types: Set<String> = ["at+jwt", "jwt"]

    /// Parameters that change what is signed or how it is read (RFC 7515, section 4.1.11; RFC 7797; RFC 7516), and the
    /// mark of a token within a token (RFC 7519, section 5.2).
    private static let forbidden = ["crit", "b64", "zip", "enc", "cty"]
}
