/// The name of a segment: `journal-`, the number of its first line in 20 digits, `.jsonl`.
package struct JournalSegmentName: Sendable, Hashable, Comparable {
    /// The number of the first line.
    package let first: UInt64

    private static let (beginning, ending, digitCount) = ("journal-", ".jsonl", 20)

    /// Creates the name of the segment that begins with a line of this number.
    package init(first: UInt64) { self.first = first }

    /// Parses a file name; nil if it is not the name of a segment.
    package init?(_ name: String) {
        guard let first = Self.number(in: name, Self.beginning, Self.ending) else { return nil }
        self.first = first
    }

    /// The file name.
    package var text: String { "\(Self.beginning)\(Self.digits(of: first))\(Self.ending)" }

    package static func < (left: JournalSegmentName, right: JournalSegmentName) -> Bool { left.first < right.first }

    /// Returns the segments among the names of files, in ascending order.
    package static func segments(among names: [String]) -> [JournalSegmentName] {
        names.compactMap { JournalSegmentName($0) }.sorted()
    }

    /// Returns the names of files that begin like that of a segment and are not one, in ascending order. The gateway writes
    /// no such file.
    package static func foreign(among names: [String]) -> [String] {
        names.filter { $0.hasPrefix(beginning) && JournalSegmentName($0) == nil }.sorted()
    }

    /// Returns the number of a line in a name that has it in 20 digits between a beginning and an ending; nil for other
    /// names.
    static func number(in name: String, _ beginning: String, _ ending: String) -> UInt64? {
        guard name.hasPrefix(beginning), name.hasSuffix(ending),
            name.utf8.count == beginning.utf8.count + digitCount + ending.utf8.count
        else { return nil }
        let digits = name.utf8.dropFirst(beginning.utf8.count).prefix(digitCount)
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }), let value = UInt64(String(Substring(digits))) else {
            return nil
        }
        return LineNumber(value)?.value
    }

    /// Formats the number with 20 digits.
    static func digits(of number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: digitCount - digits.utf8.count) + digits
    }
}
