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
    /// Whether it could be one in which the journal says how it was mended; where not, it is none.
    let mayBeRecovered: Bool
    private let bytes: [UInt8]
    private let namePlace: Int

    private static let start = Array(#"{"seq":"#.utf8)
    private static let previousMember = Array(#","prev":""#.utf8)
    private static let hashMember = Array(#"","hash":""#.utf8)
    /// From the end of the number to the word of the kind: `,"at":"2026-11-21T07:00:00.000000Z","kind":"`.
    private static let kindDistance = 44
    private static let signedKinds = [JournalStatement.Kind.checkpoint, .retired].map { Array($0.rawValue.utf8) }
    private static let recoveredKind = Array(JournalRecord.Kind.recovered.rawValue.utf8)
    /// From `,"prev":"` to the end of the line.
    private static let tailLength = previousMember.count + 64 + hashMember.count + 64 + 2

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        let previousStart = range.upperBound - Self.tailLength + Self.previousMember.count
        let hashPlace = previousStart + 64
        let hashStart = hashPlace + Self.hashMember.count
        guard Self.isShaped(bytes, range) else {
            (isShaped, hash, number, mayBeSigned, mayBeRecovered, self.bytes, namePlace) = (
                false, nil, nil, false, false, [], 0
            )
            return
        }
        isShaped = true
        self.bytes = bytes
        namePlace = previousStart
        let (number, numberEnd) = Self.number(bytes, range.lowerBound + Self.start.count)
        self.number = number
        mayBeSigned = Self.signedKinds.contains { Self.matches($0, bytes, numberEnd + Self.kindDistance) }
        mayBeRecovered = Self.matches(Self.recoveredKind, bytes, numberEnd + Self.kindDistance)
        let digest = bytes.withUnsafeBytes { buffer in
            // From `{` up to but not including `,"hash"`, whose comma comes after the quotation mark of `prev`.
            SHA256.digest(UnsafeRawBufferPointer(rebasing: buffer[range.lowerBound..<(hashPlace + 1)]))
        }
        let written = Array(bytes[hashStart..<(hashStart + 64)])
        hash = digest.map(Self.hex) == written ? written : nil
    }

    /// Whether the bytes begin and end as the journal's lines do, with a hash each in both places.
    static func isShaped(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        let tail = range.upperBound - tailLength
        return tail > range.lowerBound + start.count && matches(start, bytes, range.lowerBound)
            && matches(previousMember, bytes, tail)
            && matches(hashMember, bytes, tail + previousMember.count + 64)
            && bytes[range.upperBound - 2] == UInt8(ascii: "\"") && bytes[range.upperBound - 1] == UInt8(ascii: "}")
    }

    /// Whether it names the hash as that of the line before it.
    func names(_ hash: [UInt8]) -> Bool { isShaped && Self.matches(hash, bytes, namePlace) }

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
        while index < bytes.count {
            let byte = bytes[index]
            guard byte >= 0x30, byte <= 0x39 else { break }
            // 19 digits always fit, and no journal comes to have more lines.
            guard index - place < 19 else { return (nil, index) }
            number = number &* 10 &+ UInt64(byte &- 0x30)
            index += 1
        }
        // One number has one spelling.
        guard index > place, index < bytes.count, bytes[index] == UInt8(ascii: ","), bytes[place] != 0x30 else {
            return (nil, index)
        }
        return (number, index)
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// Written for debug builds too, in which a million lines are 32 million turns of this.
    private static func hex(_ digest: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: digest.count * 2) { buffer, count in
            digest.withUnsafeBufferPointer { digest in
                digits.withUnsafeBufferPointer { digits in
                    var index = 0
                    while index < digest.count {
                        let byte = digest[index]
                        buffer[index &+ index] = digits[Int(byte &>> 4)]
                        buffer[index &+ index &+ 1] = digits[Int(byte & 0xF)]
                        index &+= 1
                    }
                }
            }
            count = digest.count * 2
        }
    }
}
