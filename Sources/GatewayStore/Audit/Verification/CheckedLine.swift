internal import GatewayCore
internal import Glibc

/// What the chain needs of one line, read by position: a million of them are read in seconds.
struct CheckedLine {
    /// Whether it begins and ends as the journal's lines do.
    let isShaped: Bool
    /// The line's own hash, if it is that of its bytes: 64 hexadecimal digits.
    let hash: [UInt8]?
    /// Its number.
    let number: UInt64?
    /// Whether it could be a checkpoint or the like; where not, it is none.
    let mayBeSigned: Bool
    private let named: ArraySlice<UInt8>?

    private static let start = Array(#"{"seq":"#.utf8)
    private static let previousMember = Array(#","prev":""#.utf8)
    private static let hashMember = Array(#"","hash":""#.utf8)
    /// From the end of the number to the word of the kind: `,"at":"2026-11-21T07:00:00.000000Z","kind":"`.
    private static let kindDistance = 44
    private static let signedKinds = [JournalStatement.Kind.checkpoint, .retired].map { Array($0.rawValue.utf8) }
    /// From `,"prev":"` to the end of the line.
    private static let tailLength = previousMember.count + 64 + hashMember.count + 64 + 2

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        let tail = range.upperBound - Self.tailLength
        let previousStart = tail + Self.previousMember.count
        let hashPlace = previousStart + 64
        let hashStart = hashPlace + Self.hashMember.count
        guard tail > range.lowerBound + Self.start.count, Self.matches(Self.start, bytes, range.lowerBound),
            Self.matches(Self.previousMember, bytes, tail), Self.matches(Self.hashMember, bytes, hashPlace),
            bytes[range.upperBound - 2] == UInt8(ascii: "\""), bytes[range.upperBound - 1] == UInt8(ascii: "}")
        else {
            (isShaped, hash, number, mayBeSigned, named) = (false, nil, nil, false, nil)
            return
        }
        isShaped = true
        named = bytes[previousStart..<hashPlace]
        let (number, numberEnd) = Self.number(bytes, range.lowerBound + Self.start.count)
        self.number = number
        mayBeSigned = Self.signedKinds.contains { Self.matches($0, bytes, numberEnd + Self.kindDistance) }
        let digest = bytes.withUnsafeBytes { buffer in
            // From `{` up to but not including `,"hash"`, whose comma comes after the quotation mark of `prev`.
            SHA256.digest(UnsafeRawBufferPointer(rebasing: buffer[range.lowerBound..<(hashPlace + 1)]))
        }
        let written = Array(bytes[hashStart..<(hashStart + 64)])
        hash = digest.map(Self.hex) == written ? written : nil
    }

    /// Whether it names the hash as that of the line before it.
    func names(_ hash: [UInt8]) -> Bool { named.map { $0.elementsEqual(hash) } ?? false }

    private static func matches(_ pattern: [UInt8], _ bytes: [UInt8], _ place: Int) -> Bool {
        bytes.withUnsafeBytes { buffer in
            pattern.withUnsafeBytes { pattern in
                guard place >= 0, place + pattern.count <= buffer.count, let base = buffer.baseAddress,
                    let start = pattern.baseAddress
                else { return false }
                return memcmp(base + place, start, pattern.count) == 0
            }
        }
    }

    /// The number and where it ends.
    private static func number(_ bytes: [UInt8], _ place: Int) -> (UInt64?, Int) {
        var number: UInt64 = 0
        var index = place
        while index < bytes.count, (0x30...0x39).contains(bytes[index]) {
            let (shifted, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carried) = shifted.addingReportingOverflow(UInt64(bytes[index] - 0x30))
            guard !overflow, !carried else { return (nil, index) }
            number = sum
            index += 1
        }
        // One number has one spelling.
        guard index > place, index < bytes.count, bytes[index] == UInt8(ascii: ","), bytes[place] != 0x30 else {
            return (nil, index)
        }
        return (number, index)
    }

    private static func hex(_ digest: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: digest.count * 2) { buffer, count in
            for (index, byte) in digest.enumerated() {
                (buffer[2 * index], buffer[2 * index + 1]) = byte.hexDigits
            }
            count = digest.count * 2
        }
    }
}
