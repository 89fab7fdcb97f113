/// A serializer of JSON (RFC 8259). It writes no white space, the shortest escapes, and other UTF-8 unescaped.
public enum JSONWriter {
    /// Appends the text as a JSON string with quotation marks.
    @inlinable
    public static func write(string text: String, to bytes: inout some ByteSink) {
        bytes.append(UInt8(ascii: "\""))
        escape(text, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends valid UTF-8 as a JSON string with quotation marks.
    @inlinable
    public static func write(stringOfUTF8 text: some Sequence<UInt8>, to bytes: inout some ByteSink) {
        bytes.append(UInt8(ascii: "\""))
        if text.withContiguousStorageIfAvailable({ escape($0, to: &bytes) }) == nil {
            Array(text).withUnsafeBufferPointer { escape($0, to: &bytes) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends the text escaped for a JSON string, without quotation marks.
    @inlinable
    public static func escape(_ text: String, to bytes: inout some ByteSink) {
        if text.utf8.withContiguousStorageIfAvailable({ escape($0, to: &bytes) }) == nil {
            Array(text.utf8).withUnsafeBufferPointer { escape($0, to: &bytes) }
        }
    }

    // Runs of bytes that need no escape are appended at once.
    @inlinable
    static func escape(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout some ByteSink) {
        var start = 0
        for (index, byte) in text.enumerated() where isEscaped(byte) {
            bytes.append(UnsafeBufferPointer(rebasing: text[start..<index]))
            escape(byte, to: &bytes)
            start = index + 1
        }
        bytes.append(UnsafeBufferPointer(rebasing: text[start...]))
    }

    @inlinable
    static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    @usableFromInline
    static func escape(_ byte: UInt8, to bytes: inout some ByteSink) {
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

    /// Appends any value.
    public static func write(_ value: JSONValue, to bytes: inout some ByteSink) {
        switch value {
        case .null: append("null", to: &bytes)
        case .bool(let value): append(value ? "true" : "false", to: &bytes)
        case .number(let text): for byte in text.utf8 { bytes.append(byte) }
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

    /// Returns the serialized value.
    public static func bytes(of value: JSONValue) -> [UInt8] {
        var bytes: [UInt8] = []
        write(value, to: &bytes)
        return bytes
    }

    private static func append(_ text: StaticString, to bytes: inout some ByteSink) {
        text.withUTF8Buffer { bytes.append($0) }
    }
}
