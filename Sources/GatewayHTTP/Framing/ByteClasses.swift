internal import GatewaySupport

// The character classes of RFC 9110, section 5, as bit sets: one shift and one mask for each byte, without a table.

extension UInt8 {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let colon = UInt8(ascii: ":")

    /// Whether the byte is a `tchar` (RFC 9110, section 5.6.2), as in field names and methods.
    var isTokenByte: Bool {
        // Bits 0–63: ! # $ % & ' * + - . and the digits. Bits 64–127: letters, ^ _ ` | ~.
        let low: UInt64 = 0x03FF_6CFA_0000_0000
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
        return self < 64 ? (low >> UInt64(self)) & 1 == 1 : self < 128 && (high >> UInt64(self & 63)) & 1 == 1
    }

    /// Whether the byte is optional white space, `OWS` (RFC 9110, section 5.6.3).
    var isOptionalWhitespace: Bool { self == .space || self == .tab }

    /// Whether the byte is visible ASCII, `VCHAR` (RFC 5234).
    var isVisible: Bool { (0x21...0x7E).contains(self) }

    /// Whether the byte is allowed in a request target (RFC 9112, section 3.2) and is not the `?` before a query.
    var isPlainInTarget: Bool { isVisible && self != UInt8(ascii: "?") && self != UInt8(ascii: "#") }

    /// Whether the byte is a control character that is not allowed in a field value (RFC 9110, section 5.5). Tab is
    /// allowed.
    var isForbiddenInValue: Bool { self < 0x20 ? self != .tab : self == 0x7F }
}

extension Span<UInt8> {
    /// Returns whether the range equals `word`, ignoring case. `word` must consist of lower-case letters, digits and
    /// hyphens.
    ///
    /// The comparison sets bit 5, which converts letters to lower case and keeps digits and hyphens. Only a control
    /// character could be mistaken for a digit or hyphen; the caller must have excluded control characters.
    @inline(__always)
    func equalsIgnoringCase(_ word: StaticString, in range: Range<Int>) -> Bool {
        // Most words already differ in length.
        range.count == word.utf8CodeUnitCount && equalsIgnoringCase(word, from: range.lowerBound)
    }

    private func equalsIgnoringCase(_ word: StaticString, from start: Int) -> Bool {
        let length = word.utf8CodeUnitCount
        // The caller has compared the lengths, and parsers create their ranges from these bytes.
        precondition(start >= 0 && start + length <= count, "a comparison beyond the end of the bytes")
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

    /// Returns the index of the first byte in `start..<end` that is neither a space nor visible ASCII; `end` if there
    /// is none. It processes eight bytes at a time, because field values are most of the input.
    func endOfPlainText(from start: Int, before end: Int) -> Int {
        // `FieldParser` calls this only with an index below a limit within the bytes.
        precondition(start <= end && end <= count, "a range outside of the bytes")
        return withUnsafeBytes { bytes in
            var place = start
            while place + 8 <= end {
                let eight = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                // The first byte outside of 0x20...0x7E sets its upper bit. The bits of later bytes are undefined.
                let below = (eight &- 0x2020_2020_2020_2020) & ~eight
                let above = (eight &+ 0x0101_0101_0101_0101) | eight
                if (below | above) & 0x8080_8080_8080_8080 != 0 { break }
                place += 8
            }
            while place < end, (0x20...0x7E).contains(bytes[place]) { place += 1 }
            return place
        }
    }

    /// The class of the bytes as a field value. It is computed eight bytes at a time, because an HPACK index lets a
    /// client repeat a long value with one byte.
    var fieldValueClass: FieldValueClass {
        withUnsafeBytes { bytes in
            var isASCII = true
            var place = 0
            while place + 8 <= bytes.count {
                let eight = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                // The fast path: all bytes are visible ASCII or spaces, as in `endOfPlainText`.
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
            return isASCII ? .ascii : .obsText
        }
    }

    /// Whether the bytes are a non-empty token without upper-case letters, as in HTTP/2 field names (RFC 9113, section
    /// 8.2.1).
    var isLowercaseToken: Bool {
        if isEmpty { return false }
        return withUnsafeBytes { bytes in
            var place = 0
            while place + 8 <= bytes.count {
                let eight = EightBytes(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                // Visible bytes that are not allowed in tokens, and upper-case letters.
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

    /// Returns the number of ASCII letters and digits in the range.
    func alphanumericCount(in range: Range<Int>) -> Int {
        // Both field parsers pass the range of a name within these bytes.
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

    /// Returns eight bytes from `place`, with the first byte in the highest bits.
    func eightBytes(from place: Int) -> UInt64 {
        // `RequestLineParser` calls this only if eight bytes follow.
        precondition(place >= 0 && place + 8 <= count, "bytes beyond the end")
        return withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: place, as: UInt64.self)) }
    }

    /// Returns the range without leading and trailing white space.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isOptionalWhitespace { start += 1 }
        while start < end, self[end - 1].isOptionalWhitespace { end -= 1 }
        return start..<end
    }
}

/// The classes of field values (RFC 9110, section 5.5).
enum FieldValueClass {
    /// Only visible ASCII, spaces and tabs.
    case ascii
    /// Also bytes 0x80–0xFF (`obs-text`), whose encoding is undefined.
    case obsText
    /// A control character is present, which is not allowed in field values.
    case forbidden
}

/// Eight bytes in one word, compared in parallel.
private struct EightBytes {
    /// The upper bit of each byte.
    static let upperBits: UInt64 = 0x8080_8080_8080_8080
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    private let bytes: UInt64

    @inline(__always)
    init(_ bytes: UInt64) { self.bytes = bytes }

    /// Returns a mask that has the high bit of each byte set that lies in the range. Both bounds are ASCII.
    ///
    /// The lower seven bits of a byte plus the added constant stay below 256, so no byte carries into the next.
    @inline(__always)
    func within(_ first: UInt8, _ last: UInt8) -> UInt64 {
        let lower = bytes & ~Self.upperBits
        let reachesFirst = lower &+ UInt64(0x80 - first) &* Self.ones
        let isBeyondLast = lower &+ UInt64(0x7F - last) &* Self.ones
        return reachesFirst & ~isBeyondLast & ~bytes & Self.upperBits
    }
}
