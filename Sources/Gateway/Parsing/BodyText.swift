internal import GatewayCore
internal import NIOCore

/// Conversion of a body to UTF-8. Bytes that are not valid UTF-8 are read as ISO-8859-1, which Android clients send
/// without declaring it. A byte order mark is removed.
enum BodyText {
    static func utf8(_ body: ByteBuffer) -> [UInt8] {
        var bytes = Array(body.readableBytesView)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        if (try? UTF8Span(validating: bytes.span)) != nil { return bytes }
        var text: [UInt8] = []
        for byte in bytes {
            // U+0080 to U+00FF have two bytes each in UTF-8.
            if byte < 0x80 { text.append(byte) } else { text += [0xC0 | byte >> 6, 0x80 | byte & 0x3F] }
        }
        return text
    }
}
