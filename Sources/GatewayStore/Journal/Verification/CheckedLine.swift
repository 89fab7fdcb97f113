internal import GatewayCore
internal import GatewaySupport
internal import Glibc

/// The parts of a line that the chain check needs, read by position so that a million lines take only seconds.
struct CheckedLine {
    /// Whether the line has the prefix and the suffix of a journal line.
    let isWellFormed: Bool
    /// The line's `hash` member, 64 hexadecimal digits; nil if it does not match the line's bytes.
    let hash: [UInt8]?
    /// The line's number (``LineNumber``).
    let number: UInt64?
    /// Whether the line's kind may be a signed one. False is certain.
    let mayBeSigned: Bool
    /// Whether the line's kind may be `recovered`. False is certain.
    let mayBeRecovered: Bool
    /// Whether the line's kind may be `node-head`. False is certain.
    let mayBeNodeHead: Bool
    private let bytes: [UInt8]
    private let previousOffset: Int

    private static let start = Array(#"{"seq":"#.utf8)
    private static let previousMember = Array(#","prev":""#.utf8)
    private static let hashMember = Array(#"","hash":""#.utf8)
    /// The distance from the end of the number to the value of `kind`: `,"at":"2026-11-21T07:00:00.000000Z","kind":"`.
    private static let kindDistance = 44
    private static let signedKinds = [JournalStatement.Kind.checkpoint, .retired].map { Array($0.rawValue.utf8) }
    private static let recoveredKind = Array(JournalRecord.Kind.recovered.rawValue.utf8)
    private static let nodeHeadKind = Array(JournalRecord.Kind.nodeHead.rawValue.utf8)
    /// The length from `,"prev":"` to the end of the line.
    private static let tailLength = previousMember.count + 64 + hashMember.count + 64 + 2

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        let previousStart = range.upperBound - Self.tailLength + Self.previousMember.count
        let previousEnd = previousStart + 64
        let hashStart = previousEnd + Self.hashMember.count
        guard Self.isWellFormed(bytes, range) else {
            (isWellFormed, hash, number, self.bytes, previousOffset) = (false, nil, nil, [], 0)
            (mayBeSigned, mayBeRecovered, mayBeNodeHead) = (false, false, false)
            return
        }
        isWellFormed = true
        self.bytes = bytes
        previousOffset = previousStart
        var numberEnd = range.lowerBound + Self.start.count
        let number = bytes.withUnsafeBytes { LineNumber.read($0, at: &numberEnd, before: range.upperBound) }
        self.number = numberEnd < range.upperBound && bytes[numberEnd] == UInt8(ascii: ",") ? number?.value : nil
        mayBeSigned = Self.signedKinds.contains { Self.matches($0, bytes, numberEnd + Self.kindDistance) }
        mayBeRecovered = Self.matches(Self.recoveredKind, bytes, numberEnd + Self.kindDistance)
        mayBeNodeHead = Self.matches(Self.nodeHeadKind, bytes, numberEnd + Self.kindDistance)
        let digest = bytes.withUnsafeBytes { buffer in
            // The hash covers the bytes from `{` up to `,"hash"`. `previousEnd` is the closing quotation mark of
            // `prev`.
            SHA256.digest(UnsafeRawBufferPointer(rebasing: buffer[range.lowerBound..<(previousEnd + 1)]))
        }
        let written = Array(bytes[hashStart..<(hashStart + 64)])
        hash = digest.map(Self.hex) == written ? written : nil
    }

    /// Returns whether the bytes have the prefix and the suffix of a journal line, with room for both hashes.
    static func isWellFormed(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        let tail = range.upperBound - tailLength
        return tail > range.lowerBound + start.count && matches(start, bytes, range.lowerBound)
            && matches(previousMember, bytes, tail)
            && matches(hashMember, bytes, tail + previousMember.count + 64)
            && bytes[range.upperBound - 2] == UInt8(ascii: "\"") && bytes[range.upperBound - 1] == UInt8(ascii: "}")
    }

    /// Returns whether the line's `prev` is the hash.
    func hasPrevious(_ hash: [UInt8]) -> Bool { isWellFormed && Self.matches(hash, bytes, previousOffset) }

    private static func matches(_ pattern: [UInt8], _ bytes: [UInt8], _ offset: Int) -> Bool {
        bytes.withUnsafeBytes { buffer in
            pattern.withUnsafeBytes { pattern in
                guard offset >= 0, offset + pattern.count <= buffer.count, let base = buffer.baseAddress,
                    let start = pattern.baseAddress
                else { return false }
                return memcmp(base + offset, start, pattern.count) == 0
            }
        }
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// Formats the digest with a loop that is fast in debug builds too: a million lines need 32 million iterations.
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
