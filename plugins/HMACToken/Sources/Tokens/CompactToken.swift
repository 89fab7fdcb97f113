internal import GatewayCore

/// A token taken apart, and not yet believed (RFC 7515, section 3.1): three parts of base64url between two dots.
struct CompactToken {
    /// The most bytes that a token may have.
    static let longest = 4096

    /// The JOSE header.
    let header: JSONValue
    /// The claims, decoded.
    let payload: [UInt8]
    /// What the tag is over: the first two parts with the dot between them, as they came.
    let signingInput: [UInt8]
    /// The tag that came with it.
    let tag: [UInt8]

    /// The parts, or nil where the bytes are no token of this form.
    init?(_ bytes: borrowing Span<UInt8>) {
        guard bytes.count <= Self.longest else { return nil }
        var dots: [Int] = []
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") { dots.append(index) }
        guard dots.count == 2,
            let header = Base64.decode(bytes.extracting(0..<dots[0]), .url),
            let payload = Base64.decode(bytes.extracting(dots[0] + 1..<dots[1]), .url),
            let tag = Base64.decode(bytes.extracting(dots[1] + 1..<bytes.count), .url),
            let parsed = try? JSONParser(depthLimit: 4, memberLimit: 32).parse(header.span),
            case .object = parsed
        else { return nil }
        self.header = parsed
        self.payload = payload
        self.tag = tag
        var signingInput: [UInt8] = []
        signingInput.reserveCapacity(dots[1])
        for index in 0..<dots[1] { signingInput.append(bytes[index]) }
        self.signingInput = signingInput
    }

    /// The claims as JSON, or nil where they are no object.
    func claims() -> JSONValue? {
        guard let claims = try? JSONParser(depthLimit: 8, memberLimit: 256).parse(payload.span), case .object = claims
        else { return nil }
        return claims
    }

    /// Whether the header says nothing but that this is a token with that algorithm (RFC 8725, sections 3.1, 3.2, 3.10, 3.11).
    func headerFits(_ algorithm: TokenAlgorithm) -> Bool {
        guard header["alg"]?.string == algorithm.rawValue else { return false }
        if header.member(anyCase: "typ") != nil, header["typ"]?.string?.asciiLowercased != "jwt" { return false }
        return Self.forbidden.allSatisfy { header.member(anyCase: $0) == nil }
    }

    /// Parameters that would change what is verified, by what, or where a key is fetched from. None is of use here, and
    /// each is what an attack begins with.
    private static let forbidden = [
        "crit", "b64", "zip", "enc", "jwk", "jku", "x5u", "x5c", "x5t", "x5t#s256",
    ]
}
