internal import GatewaySupport

/// A token in JWS compact serialization (RFC 7515, section 3.1), not verified.
struct SignedToken {
    /// The maximum length of a token in bytes. The header section of a request has the same limit.
    static let maximumLength = 16_384

    /// The encoded header, a dot and the encoded payload, as received.
    let signingInput: [UInt8]
    let signature: [UInt8]
    /// The members of the header.
    let header: JSONValue
    /// The claims. They are not to be trusted before the signature is verified.
    let claims: JSONValue

    /// Splits and decodes a token; returns nil unless it is three parts of canonical base64url, of which the first two
    /// are JSON objects whose member names are unique.
    init?(_ bytes: borrowing Span<UInt8>) {
        guard bytes.count <= Self.maximumLength else { return nil }
        var dots: [Int] = []
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") {
            guard dots.count < 2 else { return nil }
            dots.append(index)
        }
        guard dots.count == 2,
            let header = Self.object(bytes.extracting(..<dots[0]), depth: 4, members: 64),
            let claims = Self.object(bytes.extracting(dots[0] + 1..<dots[1]), depth: 8, members: 1024),
            let signature = Base64.decode(bytes.extracting((dots[1] + 1)...), .url), !signature.isEmpty
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        var signingInput: [UInt8] = []
        signingInput.reserveCapacity(dots[1])
        for index in 0..<dots[1] { signingInput.append(bytes[index]) }
        self.signingInput = signingInput
    }

    /// The id of a token without `jti`: a part of the digest of what is signed. The signature is left out, because two
    /// ECDSA signatures of one message can be computed from each other.
    var digestID: String {
        let digest = SHA256.digest(signingInput) ?? []
        return String(decoding: Base64.encode(digest.prefix(16), .url), as: UTF8.self)
    }

    private static func object(_ encoded: Span<UInt8>, depth: Int, members: Int) -> JSONValue? {
        guard let text = Base64.decode(encoded, .url),
            let value = try? JSONParser(depthLimit: depth, memberLimit: members).parse(text.span),
            case .object = value
        else { return nil }
        return value
    }
}
