internal import GatewayCore
internal import NIOCore

/// A body's bytes as UTF-8: as they are where they are valid, else taken for ISO-8859-1, which Android's clients write without
/// saying so. A byte order mark is dropped.
enum BodyText {
    static func utf8(_ body: ByteBuffer) -> [UInt8] {
        var bytes = Array(body.readableBytesView)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        if (try? UTF8Span(validating: bytes.span)) != nil { return bytes }
        var text: [UInt8] = []
        for byte in bytes {
            // U+0080 to U+00FF are two bytes each in UTF-8.
            if byte < 0x80 { text.append(byte) } else { text += [0xC0 | byte >> 6, 0x80 | byte & 0x3F] }
        }
        return text
    }
}
