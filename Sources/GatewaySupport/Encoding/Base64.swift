/// Strict Base64 in both alphabets (RFC 4648). Only canonical text is accepted, so that no two texts decode to the same
/// bytes.
public enum Base64 {
    /// The alphabet, and whether the text is padded with `=`.
    public enum Variant: Sendable {
        /// `+` and `/`, padded with `=` (RFC 4648, section 4). Used for Basic credentials.
        case standard
        /// `-` and `_`, never padded (RFC 4648, section 5, as in RFC 7515). Used for tokens.
        case url
    }

    /// Decodes the text. Returns nil if it is not canonical: a byte outside the alphabet, a wrong length or padding, or
    /// unused bits that are set.
    public static func decode(_ text: borrowing Span<UInt8>, _ variant: Variant) -> [UInt8]? {
        var length = text.count
        if variant == .standard {
            guard length % 4 == 0 else { return nil }
            while length > 0, text.count - length < 2, text[length - 1] == UInt8(ascii: "=") { length -= 1 }
        }
        guard length % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length * 3 / 4)
        var bits: UInt32 = 0
        var held = 0
        for index in 0..<length {
            guard let value = value(of: text[index], variant) else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        // The unused bits of the last character must be zero.
        return bits & ((1 << UInt32(held)) - 1) == 0 ? bytes : nil
    }

    /// Returns the bytes encoded as text.
    public static func encode(_ bytes: some Sequence<UInt8>, _ variant: Variant) -> [UInt8] {
        bytes.withContiguousStorageIfAvailable { encode($0, variant) } ?? encode(Array(bytes), variant)
    }

    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>, _ variant: Variant) -> [UInt8] {
        [UInt8](expecting: (bytes.count + 2) / 3 * 4) { write(bytes, variant, to: &$0) }
    }

    /// Appends the bytes encoded as text.
    package static func write(_ bytes: UnsafeBufferPointer<UInt8>, _ variant: Variant, to text: inout ByteWriter) {
        var index = 0
        while index + 3 <= bytes.count {
            let bits = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
            text.append(character(for: bits >> 18, variant))
            text.append(character(for: bits >> 12, variant))
            text.append(character(for: bits >> 6, variant))
            text.append(character(for: bits, variant))
            index += 3
        }
        let left = bytes.count - index
        guard left > 0 else { return }
        let bits = UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
        text.append(character(for: bits >> 18, variant))
        text.append(character(for: bits >> 12, variant))
        if left > 1 { text.append(character(for: bits >> 6, variant)) }
        guard variant == .standard else { return }
        for _ in left..<3 { text.append(UInt8(ascii: "=")) }
    }

    private static func value(of byte: UInt8, _ variant: Variant) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: variant == .url ? "-" : "+"): 62
        case UInt8(ascii: variant == .url ? "_" : "/"): 63
        default: nil
        }
    }

    // Encodes the lowest six bits.
    private static func character(for bits: UInt32, _ variant: Variant) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: bits & 0x3F)
        return switch value {
        case 0..<26: value + UInt8(ascii: "A")
        case 26..<52: value - 26 + UInt8(ascii: "a")
        case 52..<62: value - 52 + UInt8(ascii: "0")
        case 62: UInt8(ascii: variant == .url ? "-" : "+")
        default: UInt8(ascii: variant == .url ? "_" : "/")
        }
    }
}
