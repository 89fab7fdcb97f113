// The character classes of RFC 9110, section 5, as bit sets: a shift and a mask a byte, no table in memory.

extension UInt8 {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let colon = UInt8(ascii: ":")

    /// `tchar` (RFC 9110, section 5.6.2): what names and methods are made of.
    var isTokenByte: Bool {
        // Bits 0–63: ! # $ % & ' * + - . and the digits. Bits 64–127: letters, ^ _ ` | ~.
        let low: UInt64 = 0x03FF_6CFA_0000_0000
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
        return self < 64 ? (low >> UInt64(self)) & 1 == 1 : self < 128 && (high >> UInt64(self & 63)) & 1 == 1
    }

    /// `OWS` (RFC 9110, section 5.6.3).
    var isOptionalWhitespace: Bool { self == .space || self == .tab }

    /// `VCHAR` (RFC 5234): visible ASCII.
    var isVisible: Bool { (0x21...0x7E).contains(self) }

    /// What a request's target is made of, but for the `?` that begins its query (RFC 9112, section 3.2): visible ASCII without `#`.
    var isPlainInTarget: Bool { isVisible && self != UInt8(ascii: "?") && self != UInt8(ascii: "#") }

    /// A control character that no field value may hold; tab is not one of them (RFC 9110, section 5.5).
    var isForbiddenInValue: Bool { self < 0x20 ? self != .tab : self == 0x7F }

    /// A letter or a digit.
    var isAlphanumeric: Bool {
        switch self | 0x20 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
        }
    }
}

extension Span<UInt8> {
    /// Whether the range reads `word`, without case. `word` is lower case, and of letters, digits and hyphens alone.
    ///
    /// Setting bit 5 makes letters small and leaves digits and hyphens; the only other bytes that it could turn into one
    /// of those are controls, which neither names nor values hold.
    @inline(__always)
    func reads(_ word: StaticString, in range: Range<Int>) -> Bool {
        // Most differ in length already.
        range.count == word.utf8CodeUnitCount && reads(word, from: range.lowerBound)
    }

    private func reads(_ word: StaticString, from start: Int) -> Bool {
        let length = word.utf8CodeUnitCount
        // The one caller has seen that the word is as long as a range, and ranges are of parsers, which cut them from these bytes.
        precondition(start >= 0 && start + length <= count, "a word beyond the end")
        let expected = UnsafeRawBufferPointer(start: word.utf8Start, count: length)
        return withUnsafeBytes { bytes in
            var place = 0
            while place + 8 <= length {
                let eight = bytes.loadUnaligned(fromByteOffset: start + place, as: UInt64.self)
                let wanted = expected.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                if eight | 0x2020_2020_2020_2020 != wanted { return false }
                place += 8
            }
            while place < length {
                if bytes[start + place] | 0x20 != expected[place] { return false }
                place += 1
            }
            return true
        }
    }

    /// The first place from `start` on, and before `end`, whose byte is neither a space nor visible ASCII; `end` where there is
    /// none. Eight bytes at a time: most of what comes is the values of fields.
    func endOfPlainText(from start: Int, before end: Int) -> Int {
        // The one caller, `FieldParser`, asks only while its index is before a limit that lies within the bytes.
        precondition(start <= end && end <= count, "a range outside of the bytes")
        return withUnsafeBytes { bytes in
            var place = start
            while place + 8 <= end {
                let eight = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                // The upper bit of the first byte that is below 0x20 or above 0x7E is set; of what follows it, nothing is sure.
                let below = (eight &- 0x2020_2020_2020_2020) & ~eight
                let above = (eight &+ 0x0101_0101_0101_0101) | eight
                if (below | above) & 0x8080_8080_8080_8080 != 0 { break }
                place += 8
            }
            while place < end, (0x20...0x7E).contains(bytes[place]) { place += 1 }
            return place
        }
    }

    /// What the bytes are as a field value. Eight at a time: a client of HTTP/2 refers to a long value by one byte, again and again.
    var fieldText: FieldText {
        withUnsafeBytes { bytes in
            var isASCII = true
            var place = 0
            while place + 8 <= bytes.count {
                let eight = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                // Nearly always all are visible ASCII or spaces, as in `endOfPlainText`.
                let below = (eight &- 0x2020_2020_2020_2020) & ~eight
                let above = (eight &+ 0x0101_0101_0101_0101) | eight
                if (below | above) & 0x8080_8080_8080_8080 == 0 {
                    place += 8
                    continue
                }
                if eight & EightBytes.upperBits != 0 { isASCII = false }
                let controls = EightBytes(eight).within(0x00, 0x1F) & ~EightBytes(eight).within(0x09, 0x09)
                if controls | EightBytes(eight).within(0x7F, 0x7F) != 0 { return .forbidden }
                place += 8
            }
            while place < bytes.count {
                if bytes[place].isForbiddenInValue { return .forbidden }
                if bytes[place] >= 0x80 { isASCII = false }
                place += 1
            }
            return isASCII ? .ascii : .beyondASCII
        }
    }

    /// Whether the bytes are one token at least, without capital letters: a field name of HTTP/2 (RFC 9113, section 8.2.1).
    var isLowercaseToken: Bool {
        if isEmpty { return false }
        return withUnsafeBytes { bytes in
            var place = 0
            while place + 8 <= bytes.count {
                let eight = EightBytes(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                // The visible bytes that no token holds, and the capital letters.
                let others =
                    eight.within(0x22, 0x22) | eight.within(0x28, 0x29) | eight.within(0x2C, 0x2C)
                    | eight.within(0x2F, 0x2F) | eight.within(0x3A, 0x5D) | eight.within(0x7B, 0x7B)
                    | eight.within(0x7D, 0x7D)
                if eight.within(0x21, 0x7E) & ~others != EightBytes.upperBits { return false }
                place += 8
            }
            while place < bytes.count {
                let byte = bytes[place]
                if !byte.isTokenByte || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) { return false }
                place += 1
            }
            return true
        }
    }

    /// How many letters and digits are in the range.
    func alphanumericCount(in range: Range<Int>) -> Int {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "a range outside of the bytes")
        return withUnsafeBytes { bytes in
            var (result, place) = (0, range.lowerBound)
            while place + 8 <= range.upperBound {
                let eight = EightBytes(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                let found = eight.within(0x30, 0x39) | eight.within(0x41, 0x5A) | eight.within(0x61, 0x7A)
                result += found.nonzeroBitCount
                place += 8
            }
            while place < range.upperBound {
                if bytes[place].isAlphanumeric { result += 1 }
                place += 1
            }
            return result
        }
    }

    /// Eight bytes from a place on, the first one in the uppermost bits.
    func eight(from place: Int) -> UInt64 {
        // The one caller, `RequestLineParser`, asks only where eight bytes more are there.
        precondition(place >= 0 && place + 8 <= count, "bytes beyond the end")
        return withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: place, as: UInt64.self)) }
    }

    /// The range without white space at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isOptionalWhitespace { start += 1 }
        while start < end, self[end - 1].isOptionalWhitespace { end -= 1 }
        return start..<end
    }
}

/// What bytes are as a field value (RFC 9110, section 5.5).
enum FieldText {
    /// Visible ASCII, spaces and tabs alone.
    case ascii
    /// The same, and bytes beyond ASCII, whose meaning nobody agrees on.
    case beyondASCII
    /// A control character is among them, which no value may hold.
    case forbidden
}

/// Eight bytes that are compared at once.
private struct EightBytes {
    /// The upper bit of each byte.
    static let upperBits: UInt64 = 0x8080_8080_8080_8080
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    private let bytes: UInt64

    @inline(__always)
    init(_ bytes: UInt64) { self.bytes = bytes }

    /// Returns the upper bit of each byte that lies within a range of ASCII.
    ///
    /// The lower seven bits of a byte and what is added to them come to less than 256, so that no byte carries into the next.
    @inline(__always)
    func within(_ first: UInt8, _ last: UInt8) -> UInt64 {
        let lower = bytes & ~Self.upperBits
        let reachesFirst = lower &+ UInt64(0x80 - first) &* Self.ones
        let isBeyondLast = lower &+ UInt64(0x7F - last) &* Self.ones
        return reachesFirst & ~isBeyondLast & ~bytes & Self.upperBits
    }
}
