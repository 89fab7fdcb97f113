internal import GatewayCore
internal import GatewaySupport

/// The three base64url parts of an unverified token in JWS compact serialization (RFC 7515, section 3.1).
struct CompactToken {
    /// The maximum length of a token in bytes.
    static let maximumLength = 4096

    /// The encoded header as received. The verifier recognises usual headers in this form, without decoding them.
    let encodedHeader: String
    /// The signing input: the encoded header, the dot and the encoded payload, as received.
    let signingInput: [UInt8]
    private let payloadStart: Int
    /// The decoded signature.
    let signature: [UInt8]

    /// Splits the bytes, or returns nil if they are not a token in this form. The header and the claims are decoded
    /// on demand.
    init?(_ bytes: borrowing Span<UInt8>) {
        guard bytes.count <= Self.maximumLength else { return nil }
        var dots: [Int] = []
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") { dots.append(index) }
        guard dots.count == 2, let signature = Base64.decode(bytes.extracting(dots[1] + 1..<bytes.count), .url) else {
            return nil
        }
        var signingInput: [UInt8] = []
        signingInput.reserveCapacity(dots[1])
        for index in 0..<dots[1] { signingInput.append(bytes[index]) }
        self.signingInput = signingInput
        self.signature = signature
        encodedHeader = String(decoding: signingInput[..<dots[0]], as: UTF8.self)
        payloadStart = dots[0] + 1
    }

    /// Decodes the JOSE header; returns nil if it is not a JSON object in canonical base64url.
    func header() -> JoseHeader? {
        guard let text = Base64.decode(signingInput.span.extracting(..<(payloadStart - 1)), .url),
            let header = try? JSONParser(depthLimit: 4, memberLimit: 32).parse(text.span), case .object = header
        else { return nil }
        return JoseHeader(header)
    }

    /// Decodes the claims; returns nil if they are not a JSON object in canonical base64url.
    func claims() -> JSONValue? {
        let encoded = signingInput.span.extracting(payloadStart...)
        guard let text = Base64.decode(encoded, .url),
            let claims = try? JSONParser(depthLimit: 8, memberLimit: 256).parse(text.span), case .object = claims
        else { return nil }
        return claims
    }
}
