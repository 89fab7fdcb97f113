/// The name of a segment: `journal-`, the number of its first line in 20 digits, `.jsonl`.
struct JournalSegmentName: Sendable, Hashable, Comparable {
    /// The number of the first line.
    let first: UInt64

    init(first: UInt64) { self.first = first }

    /// Parses a file name; nil if it is not the name of a segment.
    init?(_ name: String) {
        guard name.hasPrefix("journal-"), name.hasSuffix(".jsonl"), name.utf8.count == 8 + 20 + 6,
            let first = UInt64(name.dropFirst(8).dropLast(6))
        else { return nil }
        self.first = first
    }

    /// The file name.
    var text: String { "journal-\(Self.digits(of: first)).jsonl" }

    static func < (left: JournalSegmentName, right: JournalSegmentName) -> Bool { left.first < right.first }

    /// Formats the number with 20 digits.
    static func digits(of number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 20 - digits.utf8.count) + digits
    }
}
