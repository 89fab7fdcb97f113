internal import GatewayCore
internal import Glibc

/// Findings about complete lines that do not continue the chain.
extension ChainCheck {
    /// Returns the finding for a complete line whose number is not the expected one.
    func findingForMisplaced(_ line: CheckedLine) -> Finding {
        guard let number = line.number else { return Finding(expected, "the line has no number") }
        if number > expected {
            return Finding(expected, through: number - 1, "lines are missing: line \(number) follows")
        }
        return Finding(number, "the line is duplicated or out of order")
    }

    /// Returns the finding for a complete line with the expected number whose `prev` is not the previous line's hash.
    /// The finding names the line that was changed and rehashed: this line if the next line has a hash and its `prev`
    /// is not this line's hash, otherwise the previous line. If `bytes` contains no complete next line, the finding
    /// covers both. `range` is this line in `bytes`, without the line feed.
    func findingForBrokenLink(_ line: CheckedLine, _ bytes: [UInt8], _ range: Range<Int>) -> Finding {
        let isAlone = expected == report.first
        if isAlone { return Finding(expected, "the first line's `prev` is not the initial hash of the chain") }
        let what = "the line was changed and rehashed: the `prev` of the next line is another hash"
        guard let end = Self.endOfLine(in: bytes, from: range.upperBound + 1) else {
            return Finding(expected - 1, through: expected, what)
        }
        let next = CheckedLine(bytes, (range.upperBound + 1)..<end)
        if next.hash != nil, let hash = line.hash, !next.hasPrevious(hash) { return Finding(expected, what) }
        return Finding(expected - 1, what)
    }

    /// Returns the index of the next line feed at or after the offset.
    static func endOfLine(in bytes: [UInt8], from offset: Int) -> Int? {
        guard offset < bytes.count else { return nil }
        return bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress,
                let found = memchr(base + offset, Int32(UInt8(ascii: "\n")), buffer.count - offset)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}
