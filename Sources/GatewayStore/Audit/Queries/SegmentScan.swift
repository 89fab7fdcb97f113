internal import GatewayCore
internal import GatewaySupport

/// Reads the lines of segments one by one, for the parts of a journal that no index covers yet.
///
/// Reads block by block. Slower than an index by orders of magnitude.
struct SegmentScan {
    private let files: SegmentFiles
    private let budget: Budget
    /// Checked before each block. If it returns false, the scan throws `AuditIndex.Failure`.
    private let isWanted: () -> Bool

    /// The number of bytes that this scan may still read, over all its segments. Confined to one thread.
    private final class Budget {
        var bytes: UInt64
        init(_ bytes: UInt64) { self.bytes = bytes }
    }

    private static let blockBytes = 1 << 20

    /// Creates a scan.
    ///
    /// - Parameter byteLimit: The maximum number of bytes that the scan reads. A scan that needs more throws
    ///   `AuditIndex.Failure`.
    init(_ files: SegmentFiles, byteLimit: UInt64 = .max, isWanted: @escaping () -> Bool = { true }) {
        self.files = SegmentFiles(directory: files.directory, blockBytes: Self.blockBytes)
        budget = Budget(byteLimit)
        self.isWanted = isWanted
    }

    /// A line that has a number, a time and a kind. Its hash is not checked.
    struct Line {
        let reader: JournalLineReader
        let number: UInt64
        /// The line's time, in microseconds since 1970.
        let time: Int64
        let location: AuditLocation

        func hasMember(_ member: StaticString, equalTo text: String) -> Bool {
            reader.bytes(of: member)?.elementsEqual(text.utf8) ?? false
        }
    }

    /// Visits the lines of a segment that count and have a time and a kind, from the offset on, in order. Visits none if the
    /// segment has been removed.
    ///
    /// - Parameters:
    ///   - start: The offset of a line's first byte.
    ///   - number: The least number of a line from there on.
    ///   - end: The number of the next segment's first line; nil for the last segment.
    func visit(
        _ segment: SegmentFiles.ListedSegment, from start: Int, number: UInt64, before end: UInt64?,
        _ body: (Line) throws -> Void
    ) throws {
        var clock = LineTimestampReader()
        var order = LineOrder(from: number, before: end)
        var start = start
        while start < Int(clamping: segment.size) {
            guard isWanted() else { throw AuditIndex.Failure("the query was stopped") }
            let bytes = try files.ifPresent { () throws(FileFailure) in
                try files.block(of: segment, from: start, isGrowing: end == nil)
            }
            guard let bytes else { return }
            guard UInt64(bytes.count) <= budget.bytes else {
                throw AuditIndex.Failure(
                    "the journal exceeds the scan limit while its index is being built; try again later")
            }
            budget.bytes -= UInt64(bytes.count)
            var offset = 0
            while let lineEnd = ChainCheck.endOfLine(in: bytes, from: offset) {
                let reader = JournalLineReader(bytes: bytes[offset..<lineEnd])
                if let number = reader.sequence, let time = clock.time(of: reader), reader.bytes(of: "kind") != nil,
                    order.accepts(number)
                {
                    try body(
                        Line(
                            reader: reader, number: number, time: time,
                            location: AuditLocation(
                                number: number, segment: segment.name, offset: start + offset,
                                length: lineEnd - offset)))
                }
                offset = lineEnd + 1
            }
            start += bytes.count
        }
    }
}
