internal import GatewayCore
internal import GatewaySupport

/// The value of the `Authorization` field, built from the credential. The client's own field is never forwarded.
struct AuthorizationField {
    /// The maximum length of a user name and of a password in bytes.
    static let maximumTextLength = 1024
    /// The maximum length of a token in bytes. It leaves room in the 16 KiB of header fields that most servers
    /// accept.
    static let maximumTokenLength = 8192

    /// `Basic …` (RFC 7617) or `Bearer …` (RFC 6750).
    let text: String

    /// Builds the value; returns nil if the credential is empty, too long, or has characters that would change its
    /// meaning.
    init?(_ credential: Credential) {
        switch credential {
        case .password(let login, let password):
            let user = Array(login.text.utf8)
            // The first colon ends the user name (RFC 7617, section 2).
            guard (1...Self.maximumTextLength).contains(user.count), !user.contains(UInt8(ascii: ":")),
                !user.contains(0),
                (1...Self.maximumTextLength).contains(password.count), password.withUnsafeBytes({ !$0.contains(0) })
            else { return nil }
            let pair = password.withUnsafeBytes { Base64.encode(user + [UInt8(ascii: ":")] + $0, .standard) }
            text = "Basic " + String(decoding: pair, as: UTF8.self)
        case .bearer(let token):
            guard (1...Self.maximumTokenLength).contains(token.count),
                token.withUnsafeBytes({ $0.allSatisfy(Self.isTokenByte) })
            else { return nil }
            text = "Bearer " + token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        case .certificate:
            return nil
        }
    }

    /// Whether the byte is in the alphabet of `b64token` (RFC 6750, section 2.1).
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
