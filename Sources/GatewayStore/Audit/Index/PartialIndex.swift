/// The index of a segment that has no file yet: parts in memory, each of which covers successive lines and never changes.
///
/// The lines that were added since the last update get a part of their own. The last part is encoded again with them while
/// it is small, and small parts are merged once they make a large one. So an update encodes its new lines and at most the
/// bytes of a large part of earlier ones, and each line is merged once. A segment of 64 MiB has at most 33 parts, which
/// together are about a tenth as long as their lines.
struct PartialIndex: Sendable {
    /// Successive lines of the segment.
    private struct Part: Sendable {
        let index: SegmentIndex
        /// The lines, by their position in the builder.
        let rows: Range<Int>
        /// The number of bytes from the first line to the end of the last one.
        let bytes: Int
    }

    /// The bounds of parts, in bytes of their lines.
    struct PartSizes: Sendable, Hashable {
        /// The size up to which the last part is encoded again with the lines that follow.
        var small = 1 << 18
        /// The size from which a part is never encoded again.
        var large = 1 << 22
    }

    private let sizes: PartSizes
    /// The number of the segment's first line.
    let first: UInt64
    /// The number of the segment's bytes that the parts cover.
    private(set) var bytes = 0
    /// The largest number of a covered line; nil without lines.
    private(set) var latestNumber: UInt64?
    private var parts: [Part] = []

    /// Creates the index of no lines.
    init(first: UInt64, _ sizes: PartSizes = PartSizes()) { (self.first, self.sizes) = (first, sizes) }

    /// The indexes of the parts, in the order of their lines.
    var indexes: [SegmentIndex] { parts.map(\.index) }

    /// The number of covered lines.
    private var rows: Int { parts.last?.rows.upperBound ?? 0 }

    /// Covers all lines that the builder has collected. The builder has the lines that are covered already, and others
    /// after them.
    ///
    /// - Returns: The number of lines that were encoded.
    @discardableResult
    mutating func extend(to lines: SegmentIndexBuilder) -> Int {
        bytes = lines.bytes
        let new = lines.rows[rows...]
        guard let last = new.last else { return 0 }
        latestNumber = new.reduce(latestNumber) { max($0 ?? 0, $1.number) }
        parts.removeLast(parts.count - keptParts(before: last, of: lines))
        let start = rows
        while rows < lines.rows.count { parts.append(part(of: lines, from: rows)) }
        return rows - start
    }

    /// Returns the number of parts that need not be encoded again to cover the lines up to the given one.
    private func keptParts(before last: SegmentIndexBuilder.Row, of lines: SegmentIndexBuilder) -> Int {
        let small = parts.lastIndex { $0.bytes >= sizes.large }.map { $0 + 1 } ?? 0
        guard small < parts.count, let open = parts.last else { return parts.count }
        let start = lines.rows[parts[small].rows.lowerBound].offset
        if last.end - Int(start) >= sizes.large { return small }
        return open.bytes < sizes.small ? parts.count - 1 : parts.count
    }

    /// Encodes the lines from a row on: all, or the first ones that make a large part.
    private func part(of lines: SegmentIndexBuilder, from start: Int) -> Part {
        let offset = Int(lines.rows[start].offset)
        // The rows are in the order of their offsets.
        var (low, high) = (start, lines.rows.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if lines.rows[middle].end - offset >= sizes.large { high = middle } else { low = middle + 1 }
        }
        let rows = start..<(low + 1)
        let end = lines.rows[low].end
        return Part(
            index: SegmentIndex(lines.excerpt(rows).encoded(before: nil, size: UInt64(end))), rows: rows,
            bytes: end - offset)
    }
}

extension SegmentIndexBuilder.Row {
    /// The offset of the line's end in the segment.
    fileprivate var end: Int { Int(offset) + Int(length) }
}
