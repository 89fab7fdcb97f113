internal import GatewayCore

/// A token taken apart, and not yet believed (RFC 7515, section 3.1): three parts of base64url between two dots.
struct CompactToken {
    /// The most bytes that a token may have.
    static let longest = 4096

    /// The first part as it came: enough to recognise the usual ones without reading them.
    let encodedHeader: String
    /// What the tag is over: the first two parts with the dot between them, as they came.
    let signingInput: [UInt8]
    private let payloadStart: Int
    /// The tag that came with it.
    let tag: [UInt8]

    /// The parts, or nil where the bytes are no token of this form. Header and claims are read when they are asked for.
    init?(_ bytes: borrowing Span<UInt8>) {
        guard bytes.count <= Self.longest else { return nil }
        var dots: [Int] = []
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") { dots.append(index) }
        guard dots.count == 2, let tag = Base64.decode(bytes.extracting(dots[1] + 1..<bytes.count), .url) else {
            return nil
        }
        var signingInput: [UInt8] = []
        signingInput.reserveCapacity(dots[1])
        for index in 0..<dots[1] { signingInput.append(bytes[index]) }
        self.signingInput = signingInput
        self.tag = tag
        encodedHeader = String(decoding: signingInput[..<dots[0]], as: UTF8.self)
        payloadStart = dots[0] + 1
    }

    /// The JOSE header, or nil where it is no JSON object in canonical base64url.
    func header() -> JoseHeader? {
        guard let text = Base64.decode(signingInput.span.extracting(..<(payloadStart - 1)), .url),
            let header = try? JSONParser(depthLimit: 4, memberLimit: 32).parse(text.span), case .object = header
        else { return nil }
        return JoseHeader(header)
    }

    /// The claims, or nil where they are no JSON object in canonical base64url.
    func claims() -> JSONValue? {
        let encoded = signingInput.span.extracting(payloadStart...)
        guard let text = Base64.decode(encoded, .url),
            let claims = try? JSONParser(depthLimit: 8, memberLimit: 256).parse(text.span), case .object = claims
        else { return nil }
        return claims
    }
}
