/// Estimated widths of text, in units of the font size. They fit the common sans-serif fonts, rather too wide.
enum TextWidth {
    /// The width of an ellipsis.
    static let ellipsis = 1.0

    /// Returns the width of a text.
    static func of(_ text: String) -> Double { text.reduce(0) { $0 + of($1) } }

    /// Returns the width of a character. A cluster is as wide as its widest scalar.
    static func of(_ character: Character) -> Double {
        if let byte = character.asciiValue { return ofASCII(byte) }
        return character.unicodeScalars.reduce(0) { max($0, of($1)) }
    }

    private static func of(_ scalar: Unicode.Scalar) -> Double {
        switch scalar.value {
        case 0..<0x80: ofASCII(UInt8(scalar.value))
        case 0x2026: ellipsis
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F000...0x1FAFF, 0x20000...0x3FFFD, 0xFDFA...0xFDFD:
            1.1
        default: scalar.value < 0x250 ? 0.66 : 0.8
        }
    }

    private static func ofASCII(_ byte: UInt8) -> Double {
        switch byte {
        case UInt8(ascii: "i"), UInt8(ascii: "j"), UInt8(ascii: "l"), UInt8(ascii: "."), UInt8(ascii: ","),
            UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: "'"), UInt8(ascii: "|"), UInt8(ascii: "!"),
            UInt8(ascii: " "), UInt8(ascii: "I"):
            0.34
        case UInt8(ascii: "f"), UInt8(ascii: "r"), UInt8(ascii: "t"), UInt8(ascii: "("), UInt8(ascii: ")"),
            UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "-"), UInt8(ascii: "/"):
            0.42
        case UInt8(ascii: "m"), UInt8(ascii: "w"), UInt8(ascii: "M"), UInt8(ascii: "W"), UInt8(ascii: "@"),
            UInt8(ascii: "%"):
            0.98
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): 0.74
        default: 0.63
        }
    }
}
