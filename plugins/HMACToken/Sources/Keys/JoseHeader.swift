internal import GatewayCore
internal import GatewaySupport

/// The JOSE header of an unverified token (RFC 7515, section 4). The key id in it selects a key; all else
/// is only compared with what that key allows.
struct JoseHeader {
    /// All members of the header.
    let members: JSONValue

    init(_ members: JSONValue) { self.members = members }

    /// `kid`: the id of the key that the token claims to be signed with.
    var keyID: String? { members["kid"]?.string }

    /// Whether the header has this algorithm, the type JWT or none, and no parameter that changes the verification
    /// (RFC 8725, sections 3.1, 3.2, 3.10, 3.11).
    func isAcceptable(for algorithm: TokenAlgorithm) -> Bool {
        guard members["alg"]?.string == algorithm.rawValue else { return false }
        if members.member(anyCase: "typ") != nil, members["typ"]?.string?.asciiLowercased != "jwt" { return false }
        return Self.forbidden.allSatisfy { members.member(anyCase: $0) == nil }
    }

    /// Parameters that would change the signed content, the algorithm or the source of the key. None is needed here,
    /// and attacks on JWT libraries start with them.
    private static let forbidden = [
        "crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c", "x5t", "x5t#s256",
    ]

    /// Returns the headers that libraries commonly write for tokens of this key, each in its encoded form.
    ///
    /// Nearly every token starts with one of them, which saves decoding the header (3 µs a token).
    static func usualSpellings(of key: TokenKey) -> [String] {
        let algorithm = JSONValue.Member("alg", .string(key.algorithm.rawValue))
        let id = JSONValue.Member("kid", .string(key.id))
        let type = JSONValue.Member("typ", .string("JWT"))
        return [
            [algorithm, id, type], [algorithm, type, id], [type, algorithm, id], [type, id, algorithm],
            [id, algorithm, type], [id, type, algorithm], [algorithm, id], [id, algorithm],
        ].map { String(decoding: Base64.encode(JSONWriter.bytes(of: .object($0)), .url), as: UTF8.self) }
    }
}
