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
