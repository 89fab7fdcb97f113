/// The name of a segment: `journal-`, the number of its first line in 20 digits, `.jsonl`.
package struct JournalSegmentName: Sendable, Hashable, Comparable {
    /// The number of the first line.
    package let first: UInt64

    package init(first: UInt64) { self.first = first }

    /// Parses a file name; nil if it is not the name of a segment.
    package init?(_ name: String) {
        guard name.hasPrefix("journal-"), name.hasSuffix(".jsonl"), name.utf8.count == 8 + 20 + 6,
            let first = UInt64(name.dropFirst(8).dropLast(6))
        else { return nil }
        self.first = first
    }

    /// The file name.
    package var text: String { "journal-\(Self.digits(of: first)).jsonl" }

    package static func < (left: JournalSegmentName, right: JournalSegmentName) -> Bool { left.first < right.first }

    /// Formats the number with 20 digits.
    static func digits(of number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 20 - digits.utf8.count) + digits
    }
}
