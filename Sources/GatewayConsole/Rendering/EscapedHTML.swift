internal import Mustache

/// The escaping of values in templates: of bytes, in text and in attributes with double quotes.
///
/// The library's own escaping looks at characters. A quote or an angle bracket that is one character together with a
/// combining mark is none of the characters that it escapes, but a browser reads it as markup.
struct EscapedHTML: MustacheContentType {
    /// The name of the content type in templates.
    static let name = "ESCAPED"

    func escapeText(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "\""): bytes += "&quot;".utf8
            case UInt8(ascii: "'"): bytes += "&#39;".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
