internal import GatewayCore
internal import GatewaySupport

/// Runs queries on the segments alone, with the same results as the index. Used while no index is usable.
///
/// Reads every line of the relevant segments, block by block. Slower than the index by orders of magnitude.
struct AuditScan {
    private let files: SegmentFiles
    /// The number of bytes that may still be read. A scan that needs more throws `Failure`.
    private let budget: Budget
    /// Checked before each block. If it returns false, the scan throws `Failure`.
    private let isWanted: () -> Bool

    /// The remaining bytes of a scan. Confined to one thread.
    private final class Budget {
        var bytes: UInt64
        init(_ bytes: UInt64) { self.bytes = bytes }
    }

    private static let blockBytes = 1 << 20
    /// The longest time by which the wall clock may have been set back, in microseconds. A segment whose last line is
    /// older than the queried time by more than this is skipped.
    private static let maximumStepBack: Int64 = 86_400_000_000
    /// The number of bytes at a segment's end that are searched for the time of its last line.
    private static let tailBytes = 64 << 10

    init(_ files: SegmentFiles, limit: UInt64 = .max, isWanted: @escaping () -> Bool = { true }) {
        self.files = SegmentFiles(directory: files.directory, blockBytes: Self.blockBytes)
        budget = Budget(limit)
        self.isWanted = isWanted
    }

    /// A valid line with its parsed number and time.
    struct Line {
        let reader: JournalLineReader
        let number: UInt64
        let time: Int64
        let location: AuditLocation

        func hasMember(_ member: StaticString, _ text: String) -> Bool {
            reader.bytes(of: member)?.elementsEqual(text.utf8) ?? false
        }
    }

    /// Returns the segments that may contain lines since the time, in order, each with the first number of the next
    /// segment.
    func segments(since: Int64) throws -> [(segment: SegmentFiles.ListedSegment, end: UInt64?)] {
        let found = try files.list()
        return try found.indices.compactMap { index in
            let isLast = index + 1 == found.count
            if !isLast, since > .min + Self.maximumStepBack, let newest = try lastTime(of: found[index]),
                newest < since - Self.maximumStepBack
            {
                return nil
            }
            return (found[index], isLast ? nil : found[index + 1].name.first)
        }
    }

    /// Visits the valid lines of a segment in order. Ignores lines with the number `end` or a later one.
    func visit(_ segment: SegmentFiles.ListedSegment, before end: UInt64?, _ body: (Line) throws -> Void) throws {
        var clock = LineTimestampReader()
        var start = 0
        while start < Int(clamping: segment.size) {
            guard isWanted() else { throw AuditIndex.Failure("the journal is closed") }
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
                if let number = reader.sequence, number <= UInt64(Int64.max), end.map({ number < $0 }) ?? true,
                    let time = clock.time(of: reader), reader.bytes(of: "kind") != nil
                {
                    try body(
                        Line(
                            reader: reader, number: number, time: time,
                            location: AuditLocation(
                                number: number, segment: segment.name, offset: start + offset,
                                length: lineEnd - offset, call: reader.bytes(of: "call").map { Array($0) })))
                }
                offset = lineEnd + 1
            }
            start += bytes.count
        }
    }

    private func lastTime(of segment: SegmentFiles.ListedSegment) throws -> Int64? {
        let start = max(0, Int(clamping: segment.size) - Self.tailBytes)
        let bytes = try files.ifPresent { () throws(FileFailure) in try files.read(segment.name, from: start) }
        var lines = BackwardLines(bytes ?? [])
        while let line = lines.next() {
            if let time = JournalLineReader(bytes: line).time { return time.microseconds }
        }
        return nil
    }
}

extension AuditScan: AuditLocator {
    func locate(_ filter: AuditFilter, newestFirst: Bool, _ visit: (AuditLocation) throws -> Bool) throws {
        let segments = try segments(since: filter.earliest)
        for (segment, end) in newestFirst ? segments.reversed() : segments {
            var found: [AuditLocation] = []
            try self.visit(segment, before: end) { line in
                if filter.matchesColumns(line.reader, at: line.time), filter.matchesOtherConditions(line.reader) {
                    found.append(line.location)
                }
            }
            for location in newestFirst ? found.reversed() : found { guard try visit(location) else { return } }
        }
    }

    func locations(ofCalls calls: Set<[UInt8]>) throws -> [[UInt8]: [AuditLocation]] {
        var found: [[UInt8]: [AuditLocation]] = [:]
        guard !calls.isEmpty else { return found }
        for (segment, end) in try segments(since: .min) {
            try visit(segment, before: end) { line in
                if let call = line.location.call, calls.contains(call) {
                    found[call, default: []].append(line.location)
                }
            }
        }
        return found
    }
}
