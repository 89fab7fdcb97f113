internal import GatewayCore
internal import Glibc

// What is wrong with a whole line that is not where it belongs.
extension ChainCheck {
    func misplaced(_ line: CheckedLine) -> Finding {
        guard let number = line.number else { return Finding(expected, "the line has no number") }
        if number > expected {
            return Finding(expected, through: number - 1, "lines are missing: line \(number) follows")
        }
        return Finding(number, "the line is there twice, or out of order")
    }

    /// A whole line of the right number that does not name the one before it. If the next one does name this one, it was the
    /// one before that was changed and hashed anew; else it is this one.
    func unchained(_ line: CheckedLine, _ bytes: [UInt8], _ range: Range<Int>) -> Finding {
        let isAlone = expected == report.first
        if isAlone { return Finding(expected, "the line does not name the hash that the first line of all names") }
        let what = "the line was changed and hashed anew: the next one names another hash"
        guard let end = Self.endOfLine(in: bytes, from: range.upperBound + 1) else {
            return Finding(expected - 1, through: expected, what)
        }
        let next = CheckedLine(bytes, (range.upperBound + 1)..<end)
        if next.hash != nil, let hash = line.hash, !next.names(hash) { return Finding(expected, what) }
        return Finding(expected - 1, what)
    }

    /// The line feed that ends the line which begins there.
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
