internal import GatewayCore

/// A credential as the value of `Authorization`, made anew: never what the caller wrote.
struct AuthorizationField {
    /// The longest user name and the longest password, in bytes.
    static let longestText = 1024
    /// The longest token, in bytes: what still leaves room in the 16 KiB of header that most servers take.
    static let longestToken = 8192

    /// `Basic …` (RFC 7617) or `Bearer …` (RFC 6750).
    let text: String

    /// The value, or nil where the credential has none: empty, too long, or of characters that would say something
    /// else.
    init?(_ credential: Credential) {
        switch credential {
        case .password(let login, let password):
            let user = Array(login.text.utf8)
            // The first colon ends the name (RFC 7617, section 2).
            guard (1...Self.longestText).contains(user.count), !user.contains(UInt8(ascii: ":")), !user.contains(0),
                (1...Self.longestText).contains(password.count), password.withUnsafeBytes({ !$0.contains(0) })
            else { return nil }
            let pair = password.withUnsafeBytes { Base64.encode(user + [UInt8(ascii: ":")] + $0, .standard) }
            text = "Basic " + String(decoding: pair, as: UTF8.self)
        case .bearer(let token):
            guard (1...Self.longestToken).contains(token.count),
                token.withUnsafeBytes({ $0.allSatisfy(Self.isTokenByte) })
            else { return nil }
            text = "Bearer " + token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The alphabet of `b64token` (RFC 6750, section 2.1).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
