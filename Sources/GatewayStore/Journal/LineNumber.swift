/// The number of a line of a journal: from 1 to 2^63 − 2.
///
/// Names of files, lines, rows and peers state numbers. Each becomes a value of this type where it is read, or is rejected
/// there. The number after the last one and the sum of two numbers fit into 64 bits, so arithmetic on ``value`` cannot
/// overflow, and neither can it after a conversion to a signed number.
package struct LineNumber: Sendable, Hashable, Comparable {
    /// The numbers that a line can have.
    package static let range: ClosedRange<UInt64> = 1...(UInt64(Int64.max) - 1)

    /// The number.
    package let value: UInt64

    /// Creates the number; nil if no line can have it.
    package init?(_ value: UInt64) {
        guard Self.range.contains(value) else { return nil }
        self.value = value
    }

    /// Creates the number in a column of a row; nil if no line can have it.
    package init?(row value: Int64) {
        guard let value = UInt64(exactly: value) else { return nil }
        self.init(value)
    }

    package static func < (left: LineNumber, right: LineNumber) -> Bool { left.value < right.value }

    /// The maximum number of digits; a number of so many digits fits into 64 bits.
    private static let maximumDigits = 19

    /// Reads the decimal digits at the offset, and moves the offset behind them. Returns nil for a number that no line has,
    /// and for another spelling of one: with leading zeros or a sign.
    static func read(_ bytes: UnsafeRawBufferPointer, at offset: inout Int, before end: Int) -> LineNumber? {
        let start = offset
        var value: UInt64 = 0
        while offset < end, offset - start < maximumDigits, (0x30...0x39).contains(bytes[offset]) {
            value = value &* 10 &+ UInt64(bytes[offset] &- 0x30)
            offset += 1
        }
        guard offset > start, bytes[start] != 0x30, offset == end || !(0x30...0x39).contains(bytes[offset]) else {
            return nil
        }
        return LineNumber(value)
    }
}

/// Decides which lines of a segment count: those whose numbers ascend from that of the segment to the one before the next
/// segment. Behind them a failed write may have left others, which ``ChainCheck`` lets have later numbers only.
struct LineOrder: Sendable {
    /// The least number that the next line may have.
    private(set) var next: UInt64
    private let end: UInt64

    /// Creates the order of a segment.
    ///
    /// - Parameters:
    ///   - first: The number of the segment's first line, or of the first line that is read.
    ///   - end: The number of the next segment's first line; nil for the last segment.
    init(from first: UInt64, before end: UInt64?) {
        next = first
        self.end = end ?? LineNumber.range.upperBound + 1
    }

    /// Returns whether the next line with this number counts.
    mutating func accepts(_ number: UInt64) -> Bool {
        guard number >= next, number < end else { return false }
        next = number + 1
        return true
    }

    /// Returns the lines that count, in order, without their line feeds.
    mutating func lines(in bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var found: [ArraySlice<UInt8>] = []
        var start = 0
        while let end = ChainCheck.endOfLine(in: bytes, from: start) {
            let line = bytes[start..<end]
            if let number = JournalLineReader(bytes: line).sequence, accepts(number) { found.append(line) }
            start = end + 1
        }
        return found
    }
}
