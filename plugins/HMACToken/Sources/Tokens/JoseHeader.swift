internal import GatewayCore

/// The header of a token, not yet believed (RFC 7515, section 4): it names a key, and says nothing else of any worth.
struct JoseHeader {
    /// All that it says.
    let members: JSONValue

    init(_ members: JSONValue) { self.members = members }

    /// `kid`: which key it says that it is signed with.
    var keyID: String? { members["kid"]?.string }

    /// Whether the header says nothing but that this is a token with that algorithm (RFC 8725, sections 3.1, 3.2, 3.10, 3.11).
    func fits(_ algorithm: TokenAlgorithm) -> Bool {
        guard members["alg"]?.string == algorithm.rawValue else { return false }
        if members.member(anyCase: "typ") != nil, members["typ"]?.string?.asciiLowercased != "jwt" { return false }
        return Self.forbidden.allSatisfy { members.member(anyCase: $0) == nil }
    }

    /// Parameters that would change what is verified, by what, or where a key is fetched from. None is of use here, and
    /// each is what an attack begins with.
    private static let forbidden = [
        "crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c", "x5t", "x5t#s256",
    ]

    /// The spellings in which libraries write the header of a key's tokens, each as the first part of a token has it.
    ///
    /// Nearly every token begins with one of them; who knows them all by heart needs to read none (3 µs a token).
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
