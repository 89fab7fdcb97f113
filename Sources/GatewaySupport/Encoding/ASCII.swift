// ASCII helpers for wire grammars. They depend on neither locale nor Unicode case mapping.

extension UInt8 {
    /// The byte with an ASCII upper-case letter made lower-case; every other byte unchanged.
    @inlinable
    package var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }

    /// Whether the byte is one of `0–9`.
    @inlinable
    package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// Whether the byte is one of `A–Z a–z 0–9`.
    @inlinable
    package var isAlphanumeric: Bool {
        switch self | 0x20 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: isASCIIDigit
        }
    }

    /// The value of a hexadecimal digit in either case, or nil.
    @inlinable
    package var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The two lower-case hexadecimal digits of the byte, high nibble first.
    @inlinable
    package var hexDigits: (UInt8, UInt8) {
        func digit(_ nibble: UInt8) -> UInt8 {
            nibble < 10 ? nibble + UInt8(ascii: "0") : nibble + UInt8(ascii: "a") - 10
        }
        return (digit(self >> 4), digit(self & 0xF))
    }
}

extension String {
    /// The text with ASCII upper-case letters made lower-case; the same storage if there are none.
    package var asciiLowercased: String {
        // Scanning contiguous storage is several times as fast as iterating over the UTF-8 view.
        let hasCapitals =
            utf8.withContiguousStorageIfAvailable { $0.contains { $0.asciiLowercased != $0 } }
            ?? utf8.contains { $0.asciiLowercased != $0 }
        guard hasCapitals else { return self }
        return String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self)
    }

    /// Creates text of the bytes in lower-case hexadecimal.
    package init(hexEncoding bytes: some Collection<UInt8>) {
        self.init(unsafeUninitializedCapacity: bytes.count * 2) { text in
            var index = 0
            for byte in bytes {
                (text[index], text[index + 1]) = byte.hexDigits
                index += 2
            }
            return index
        }
    }
}

extension UInt64 {
    /// The number as 16 lower-case hexadecimal digits in memory order: the first eight, then the last eight.
    package var hexDigits: (high: UInt64, low: UInt64) {
        (
            Self.hexDigits(of: UInt32(truncatingIfNeeded: self >> 32)),
            Self.hexDigits(of: UInt32(truncatingIfNeeded: self))
        )
    }

    // Converts eight digits at once, each in a byte of its own: spreads the nibbles and moves values above 9 from
    // behind `9` to `a`.
    private static func hexDigits(of number: UInt32) -> UInt64 {
        var nibbles = UInt64(number.byteSwapped)
        nibbles = (nibbles | nibbles << 16) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles >> 4 | nibbles << 8) & 0x0F0F_0F0F_0F0F_0F0F
        let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (nibbles &+ 0x3030_3030_3030_3030 &+ letters &* UInt64(UInt8(ascii: "a") - UInt8(ascii: "9") - 1))
            .littleEndian
    }
}
