/// Strings, numbers and literal names.
extension JSONReader {
    /// Whether the byte is an ASCII letter or digit.
    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }

    /// Parses a number, `true`, `false` or `null`.
    mutating func readWord() throws(JSONError) -> JSONValue {
        let word = bytes[position...].prefix { byte in
            Self.isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: ".")
        }
        position += word.count
        let text = String(decoding: word, as: UTF8.self)
        switch text {
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "undefined" where dialect == .lenient: return .null
        case "NaN" where dialect == .lenient, "Infinity" where dialect == .lenient,
            "-Infinity" where dialect == .lenient:
            return .number(text)
        default:
            guard dialect == .strict ? Self.isNumber(word) : Self.startsNumber(word) && Double(text) != nil else {
                throw JSONError()
            }
            return .number(text)
        }
    }

    private static func startsNumber(_ word: ArraySlice<UInt8>) -> Bool {
        guard let first = word.first else { return false }
        return first == UInt8(ascii: "-") || first == UInt8(ascii: ".")
            || (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= first
    }

    /// Returns whether the text is a number by RFC 8259, section 6.
    private static func isNumber(_ word: ArraySlice<UInt8>) -> Bool {
        var rest = word
        func digits() -> Int {
            let run = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= $0 }
            rest = rest.dropFirst(run.count)
            return run.count
        }
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        guard whole > 0, !startsWithZero || whole == 1 else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard digits() > 0 else { return false }
        }
        if let byte = rest.first, byte | 0x20 == UInt8(ascii: "e") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard digits() > 0 else { return false }
        }
        return rest.isEmpty
    }

    /// Parses a string. The current byte is its opening quote, and the same quote closes it.
    mutating func readString() throws(JSONError) -> String {
        guard let quote = current else { throw JSONError() }
        position += 1
        var text: [UInt8] = []
        while let byte = current {
            position += 1
            switch byte {
            case quote: return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: try readEscape())
            case 0..<0x20 where dialect == .strict: throw JSONError()
            default: text.append(byte)
            }
        }
        throw JSONError()
    }

    private mutating func readEscape() throws(JSONError) -> [UInt8] {
        guard let byte = current else { throw JSONError() }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "'") where dialect == .lenient: return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return Array(String(Character(try readUnicodeEscape())).utf8)
        default: throw JSONError()
        }
    }

    /// Parses the digits of `\uXXXX`, and the second half of a surrogate pair. A lone half becomes U+FFFD in the
    /// lenient dialect and is an error in the strict one.
    private mutating func readUnicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let first = try readFourDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let start = position
        if first < 0xDC00, bytes[position...].starts(with: Array("\\u".utf8)) {
            position += 2
            let second = try readFourDigits()
            if (0xDC00...0xDFFF).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            {
                return scalar
            }
            position = start
        }
        guard dialect == .lenient else { throw JSONError() }
        return "\u{FFFD}"
    }

    private mutating func readFourDigits() throws(JSONError) -> UInt32 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy(Self.isLetterOrDigit),
            let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw JSONError() }
        position += 4
        return value
    }
}
