internal import GatewayCore

/// The URL of a query of an account's status: the configured one with the parameter `user`.
enum StatusQuery {
    /// The name of the parameter.
    static let parameter = "user"

    /// Returns the URL; nil for a name that no login can have had.
    ///
    /// Every byte of the name but the unreserved characters of RFC 3986 is percent-encoded, so that no name changes
    /// another part of the URL.
    static func url(_ base: String, for login: LoginName) -> String? {
        let name = login.text.utf8
        guard (1...AuthorizationField.maximumTextLength).contains(name.count), !name.contains(0) else { return nil }
        let separator = base.contains("?") ? (base.hasSuffix("?") || base.hasSuffix("&") ? "" : "&") : "?"
        return base + separator + parameter + "=" + encoded(name)
    }

    private static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                text.append(byte)
            default: text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
