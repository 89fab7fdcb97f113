internal import GatewayCore

/// Answers from the segments alone, as the index would: for the time in which there is no index that can be used.
///
/// Reads every line of the segments concerned, block by block. Slower than the index by orders of magnitude.
struct AuditScan {
    private let files: SegmentFiles
    /// How many bytes of segments may be read; beyond it `Failure` is thrown.
    private let budget: Budget
    /// Asked before each block; where it returns false the scan ends with a `Failure`.
    private let isWanted: () -> Bool

    /// How much a scan has read. Belongs to one thread.
    private final class Budget {
        var bytes: UInt64
        init(_ bytes: UInt64) { self.bytes = bytes }
    }

    private static let blockBytes = 1 << 20
    /// How far times may go back within a journal, in microseconds: a clock that was set. Older segments are not read for what is newer.
    private static let longestStepBack: Int64 = 86_400_000_000
    /// How much of a segment's end is read for the time of its last line.
    private static let tailBytes = 64 << 10

    init(_ files: SegmentFiles, limit: UInt64 = .max, isWanted: @escaping () -> Bool = { true }) {
        self.files = SegmentFiles(directory: files.directory, blockBytes: Self.blockBytes)
        budget = Budget(limit)
        self.isWanted = isWanted
    }

    /// A line, and what every line that counts says.
    struct Line {
        let reader: JournalLineReader
        let number: UInt64
        let time: Int64
        let location: AuditLocation

        func says(_ member: StaticString, _ text: String) -> Bool {
            reader.bytes(of: member)?.elementsEqual(text.utf8) ?? false
        }
    }

    /// The segments that may hold lines since then, in order, and for each the number that the next one begins with.
    func segments(since: Int64) throws -> [(segment: SegmentFiles.Found, end: UInt64?)] {
        let found = try files.list()
        return try found.indices.compactMap { index in
            let isLast = index + 1 == found.count
            if !isLast, since > .min + Self.longestStepBack, let newest = try lastTime(of: found[index]),
                newest < since - Self.longestStepBack
            {
                return nil
            }
            return (found[index], isLast ? nil : found[index + 1].name.first)
        }
    }

    /// Visits the lines of a segment that count, in order.
    func visit(_ segment: SegmentFiles.Found, before end: UInt64?, _ body: (Line) throws -> Void) throws {
        var clock = LineClock()
        var start = 0
        while start < Int(clamping: segment.size) {
            guard isWanted() else { throw AuditIndex.Failure("the journal is closed") }
            let bytes = try files.ifPresent { () throws(FileFailure) in
                try files.block(of: segment, from: start, isGrowing: end == nil)
            }
            guard let bytes else { return }
            guard UInt64(bytes.count) <= budget.bytes else {
                throw AuditIndex.Failure("the journal is too long to be read through; its index is being made")
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
                                number: number, segment: segment.name, place: start + offset,
                                length: lineEnd - offset, call: reader.bytes(of: "call").map { Array($0) })))
                }
                offset = lineEnd + 1
            }
            start += bytes.count
        }
    }

    private func lastTime(of segment: SegmentFiles.Found) throws -> Int64? {
        let start = max(0, Int(clamping: segment.size) - Self.tailBytes)
        let bytes = try files.ifPresent { () throws(FileFailure) in try files.read(segment.name, from: start) }
        var lines = BackwardLines(bytes ?? [])
        while let line = lines.next() {
            if let time = JournalLineReader(bytes: line).time { return time.microseconds }
        }
        return nil
    }
}

extension AuditScan: AuditLocating {
    func locate(_ filter: AuditFilter, newestFirst: Bool, _ visit: (AuditLocation) throws -> Bool) throws {
        let segments = try segments(since: filter.earliest)
        for (segment, end) in newestFirst ? segments.reversed() : segments {
            var found: [AuditLocation] = []
            try self.visit(segment, before: end) { line in
                if filter.fitsColumns(line.reader, at: line.time), filter.fitsRest(line.reader) {
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
