internal import GatewayCore
internal import GatewaySupport

/// Runs queries on the segments of a journal: through the index of a segment if it is usable, and otherwise on the
/// segment itself. Both give the same results.
///
/// Confined to one thread.
struct AuditReader {
    /// A segment of a query.
    struct Segment {
        let listed: SegmentFiles.ListedSegment
        /// The number of the next segment's first line; nil for the last segment.
        let end: UInt64?
        /// The indexes of its lines, in the order of the lines; none if it has to be read itself.
        let indexes: [SegmentIndex]
        /// The offset from which it has to be read itself, and the least number of a line there; nil if the indexes cover it.
        let unindexedStart: (offset: Int, number: UInt64)?

        init(
            _ listed: SegmentFiles.ListedSegment, before end: UInt64?,
            covered: (indexes: [SegmentIndex], bytes: UInt64, next: UInt64)
        ) {
            (self.listed, self.end) = (listed, end)
            indexes = covered.indexes
            unindexedStart = covered.bytes < listed.size ? (Int(clamping: covered.bytes), covered.next) : nil
        }
    }

    let files: SegmentFiles
    private let indexes: AuditIndex?
    private let scan: SegmentScan
    private let source: AuditLineSource

    /// Creates a reader for one query.
    ///
    /// - Parameters:
    ///   - indexes: The indexes that may be used; nil to read the segments only.
    ///   - byteLimit: The maximum number of bytes of segments without an index that the query reads. A query that needs
    ///     more throws `AuditIndex.Failure`.
    ///   - isWanted: Checked before each block of a segment. If it returns false, the query throws
    ///     `AuditIndex.Failure`.
    init(
        _ files: SegmentFiles, _ indexes: AuditIndex? = nil, byteLimit: UInt64 = .max,
        isWanted: @escaping () -> Bool = { true }
    ) {
        self.files = files
        self.indexes = indexes
        source = AuditLineSource(files)
        scan = SegmentScan(files, byteLimit: byteLimit, isWanted: isWanted)
    }

    /// The largest setback of the wall clock, in microseconds, for which queries still find all lines. A segment is
    /// skipped if its last line is older than the queried time by more than this.
    private static let maximumClockSetback: Int64 = 86_400_000_000

    /// Returns the segments that may contain lines since the time, in order.
    func segments(since: Int64) throws -> [Segment] {
        let listed = try files.list()
        return try listed.indices.compactMap { position in
            let end = position + 1 < listed.count ? listed[position + 1].name.first : nil
            let stored = try end.flatMap { try indexes?.open(listed[position], before: $0) }
            if let end, since > .min + Self.maximumClockSetback {
                let last = try stored.map(\.header.lastTime) ?? files.lastTime(of: listed[position], before: end)
                if let last, last < since - Self.maximumClockSetback { return nil }
            }
            let first = listed[position].name.first
            let covered =
                stored.map { ([$0], listed[position].size, first) }
                ?? indexes?.partial(of: listed[position], before: end)
            return Segment(listed[position], before: end, covered: covered ?? ([], 0, first))
        }
    }

    /// Visits the lines of a segment that its indexes do not cover: all lines if it has none, and otherwise those that
    /// were appended after the last update.
    func visitUnindexed(_ segment: Segment, _ body: (SegmentScan.Line) throws -> Void) throws {
        guard let start = segment.unindexedStart else { return }
        try scan.visit(segment.listed, from: start.offset, number: start.number, before: segment.end, body)
    }
}

extension AuditReader: AuditLocator {
    func locate(_ filter: AuditFilter, newestFirst: Bool, _ visit: (AuditLocation) throws -> Bool) throws -> UInt64? {
        let segments = try segments(since: filter.earliest)
        for segment in newestFirst ? segments.reversed() : segments {
            var appended: [AuditLocation] = []
            try visitUnindexed(segment) { line in
                if filter.matchesColumns(line.reader, at: line.time), filter.matchesOtherConditions(line.reader) {
                    appended.append(line.location)
                }
            }
            if newestFirst { for location in appended.reversed() { guard try visit(location) else { return nil } } }
            for index in newestFirst ? segment.indexes.reversed() : segment.indexes {
                let rows = IndexedRows(index)
                guard try rows.locate(filter, newestFirst: newestFirst, visit) else { return nil }
            }
            if !newestFirst { for location in appended { guard try visit(location) else { return nil } } }
        }
        return nil
    }

    var maximumCalls: Int { .max }

    func locations(ofCalls calls: Set<[UInt8]>) throws -> [[UInt8]: [AuditLocation]] {
        var found: [[UInt8]: [AuditLocation]] = [:]
        guard !calls.isEmpty else { return found }
        let keys = calls.map { call in (call, call.withUnsafeBytes(SegmentIndex.CallKey.init)) }
        for segment in try segments(since: .min) {
            for index in segment.indexes {
                let rows = IndexedRows(index)
                for (call, key) in keys {
                    for location in try rows.locations(ofCall: key)
                    where try source.line(at: location).flatMap({ JournalLineReader(bytes: $0[...]).bytes(of: "call") }
                    )?
                    .elementsEqual(call) ?? false {
                        found[call, default: []].append(location)
                    }
                }
            }
            try visitUnindexed(segment) { line in
                if let call = line.reader.bytes(of: "call").map({ Array($0) }), calls.contains(call) {
                    found[call, default: []].append(line.location)
                }
            }
        }
        return found
    }

    func line(at location: AuditLocation) throws -> [UInt8]? { try source.line(at: location) }

    func forEachLine(
        at locations: some Sequence<AuditLocation>, _ body: (AuditLocation, [UInt8]) throws -> Void
    ) throws {
        for location in locations { if let line = try source.line(at: location) { try body(location, line) } }
    }

    func compacted(_ location: AuditLocation) -> AuditLocation { location }

    func precedes(_ first: AuditLocation, _ second: AuditLocation) -> Bool { first.number < second.number }

    func bound(after location: AuditLocation) -> UInt64 { location.number + 1 }

    func isOnEarlierPage(_ location: AuditLocation, _ filter: AuditFilter) -> Bool {
        filter.before.map { location.number >= $0 && location.number < filter.top ?? .max } ?? false
    }

    func contradiction(at location: AuditLocation) -> any Error {
        AuditIndex.Failure(
            damaged: location.segment.first, "does not describe line \(location.number) as it is")
    }
}

/// The lines of one segment, found through its index. Confined to one thread.
struct IndexedRows {
    private let reader: SegmentIndexReader
    private let segment: JournalSegmentName

    init(_ index: SegmentIndex) {
        reader = SegmentIndexReader(index)
        segment = JournalSegmentName(first: index.header.first)
    }

    /// Visits the locations of the lines that match the conditions on columns of the index. Returns false if a visit
    /// returned false.
    func locate(_ filter: AuditFilter, newestFirst: Bool, _ visit: (AuditLocation) throws -> Bool) throws -> Bool {
        guard let columns = try filter.columns(reader) else { return true }
        for number in newestFirst ? Array(columns.rows.reversed()) : columns.rows {
            let row = try reader.row(number)
            guard columns.matches(row) else { continue }
            guard try visit(try location(row)) else { return false }
        }
        return true
    }

    /// Returns the locations of the lines that may belong to the call, in ascending order.
    func locations(ofCall call: SegmentIndex.CallKey) throws -> [AuditLocation] {
        try reader.rows(ofCall: call).map { try location(reader.row($0)) }
    }

    private func location(_ row: SegmentIndex.Row) throws -> AuditLocation {
        guard (1...SegmentIndex.maximumLineBytes).contains(row.length) else {
            throw AuditIndex.Failure(damaged: segment.first)
        }
        return AuditLocation(number: row.number, segment: segment, offset: row.offset, length: row.length)
    }

    /// The send of a line whose recipient is a user, as the index describes it.
    struct Send {
        let sender: UInt32
        let time: Int64
        let kind: String
        let service: String?
        let result: String?
        let count: Int64
    }

    /// Visits the lines of sends to the user, until the visit returns false. Returns false if it did.
    func sends(to user: UserName, newestFirst: Bool, _ visit: (Send) throws -> Bool) throws -> Bool {
        guard let recipient = try reader.name(user.text) else { return true }
        let rows = try reader.rows(ofRecipient: recipient)
        guard !rows.isEmpty else { return true }
        let shapes = try reader.shapes().map { $0.action == Action.send.rawValue ? $0 : nil }
        for number in newestFirst ? rows.reversed() : rows {
            let row = try reader.row(number)
            guard shapes.indices.contains(row.shape) else { throw AuditIndex.Failure(damaged: segment.first) }
            guard let shape = shapes[row.shape] else { continue }
            let found = Send(
                sender: row.user, time: row.time, kind: shape.kind ?? "", service: shape.pns, result: shape.result,
                count: shape.count)
            guard try visit(found) else { return false }
        }
        return true
    }

    /// Returns the name of a sender; nil for a missing one.
    func name(_ number: UInt32) throws -> String? {
        number == SegmentIndex.none ? nil : String(decoding: try reader.text(ofName: number), as: UTF8.self)
    }
}
