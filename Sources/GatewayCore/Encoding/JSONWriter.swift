/// Writes JSON (RFC 8259) as bytes: no white space, the shortest escapes, UTF-8 as it is.
public enum JSONWriter {
    /// Appends the text as a JSON string, quotation marks included.
    public static func write(string text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        escape(text, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends valid UTF-8 as a JSON string, quotation marks included.
    public static func write(stringOfUTF8 text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        if text.withContiguousStorageIfAvailable({ write(stringOfUTF8: $0.span, to: &bytes) }) == nil {
            write(stringOfUTF8: Array(text).span, to: &bytes)
        }
    }

    /// The same.
    public static func write(stringOfUTF8 text: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        escape(text, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends the text with what JSON strings cannot hold escaped, without quotation marks.
    public static func escape(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { escape($0.span, to: &bytes) }
    }

    // What needs no escape, nearly everything, is appended in one go.
    private static func escape(_ text: Span<UInt8>, to bytes: inout [UInt8]) {
        var start = 0
        for index in text.indices where isEscaped(text[index]) {
            append(text.extracting(start..<index), to: &bytes)
            escape(text[index], to: &bytes)
            start = index + 1
        }
        append(text.extracting(start...), to: &bytes)
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private static func escape(_ byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"", to: &bytes)
        case UInt8(ascii: "\\"): append("\\\\", to: &bytes)
        case 0x0A: append("\\n", to: &bytes)
        case 0x0D: append("\\r", to: &bytes)
        case 0x09: append("\\t", to: &bytes)
        case 0x08: append("\\b", to: &bytes)
        case 0x0C: append("\\f", to: &bytes)
        default:
            append("\\u00", to: &bytes)
            let (high, low) = byte.hexDigits
            bytes.append(high)
            bytes.append(low)
        }
    }

    private static func append(_ run: Span<UInt8>, to bytes: inout [UInt8]) {
        run.withUnsafeBufferPointer { bytes += $0 }
    }

    /// Appends any value.
    public static func write(_ value: JSONValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: append("null", to: &bytes)
        case .bool(let value): append(value ? "true" : "false", to: &bytes)
        case .number(let text): bytes += text.utf8
        case .string(let text): write(string: text, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write(value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                write(string: member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                write(member.value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// The value as bytes.
    public static func bytes(of value: JSONValue) -> [UInt8] {
        var bytes: [UInt8] = []
        write(value, to: &bytes)
        return bytes
    }

    private static func append(_ text: StaticString, to bytes: inout [UInt8]) {
        text.withUTF8Buffer { bytes += $0 }
    }
}
