package import GatewayCore
package import GatewaySupport
internal import Synchronization

/// A segment of the journal, as far as it is known without reading it.
package struct SegmentSummary: Sendable, Hashable {
    /// The file name.
    package let name: String
    /// The number of the first line.
    package let first: UInt64
    /// The number of the last line; nil for an empty segment in use.
    package let last: UInt64?
    /// The earliest time of a line; nil without lines or without an index.
    package let earliest: WallTime?
    /// The latest time of a line; nil without lines or without an index.
    package let latest: WallTime?
    /// The size of the file, which includes preallocated space.
    package let bytes: UInt64
    /// Whether a later segment exists, so that this one is not written any more.
    package let isClosed: Bool
    /// Whether the segment has a usable index; false for the segment in use, whose index is in memory.
    package let isIndexed: Bool
    /// Whether the last line is a checkpoint; nil if that is not known. Its signature is not verified.
    package let endsWithCheckpoint: Bool?
}

extension RecordedHistory {
    /// Returns segments of the journal, newest first.
    ///
    /// - Parameters:
    ///   - before: The number of a first line before which the segments begin; nil for the newest ones.
    ///   - limit: The maximum number of segments.
    package func segments(before: UInt64?, limit: Int) async throws(HistoryUnavailable) -> [SegmentSummary] {
        try await run(on: operators, waitingOperators) { [self] in try trail.segments(before: before, limit: limit) }
    }
}

extension AuditTrail {
    /// Returns segments, newest first.
    fileprivate func segments(before: UInt64?, limit: Int) throws -> [SegmentSummary] {
        let listed = try files.list()
        let wanted = listed.indices.reversed().lazy.filter { listed[$0].name.first < before ?? .max }
        return try wanted.prefix(limit).map { position in
            let segment = listed[position]
            guard position + 1 < listed.count else { return inUse(segment) }
            return try summary(of: segment, before: listed[position + 1].name.first)
        }
    }

    private func inUse(_ segment: SegmentFiles.ListedSegment) -> SegmentSummary {
        // The lines are absent for the moment of an update.
        let known = index.followed.withLock { lines -> (last: UInt64, times: ClosedRange<Int64>)? in
            guard let lines, lines.first == segment.name.first, let first = lines.rows.first, let last = lines.rows.last
            else { return nil }
            return (last.number, min(first.time, last.time)...max(first.time, last.time))
        }
        return SegmentSummary(
            name: segment.name.text, first: segment.name.first, last: known?.last,
            earliest: (known?.times.lowerBound).map(WallTime.init(microseconds:)),
            latest: (known?.times.upperBound).map(WallTime.init(microseconds:)), bytes: segment.size, isClosed: false,
            isIndexed: false, endsWithCheckpoint: nil)
    }

    private func summary(of segment: SegmentFiles.ListedSegment, before end: UInt64) throws -> SegmentSummary {
        var found = try index.open(segment, before: end)
        var endsWithCheckpoint: Bool?
        do {
            endsWithCheckpoint = try found.flatMap(Self.endsWithCheckpoint)
        } catch let failure as AuditIndex.Failure where failure.damagedSegment != nil {
            // A damaged index is built again.
            _ = index.discard(segment.name.first)
            found = nil
        }
        let header = found?.header
        let times = header.flatMap { $0.count(of: .rows) > 0 ? ($0.earliest, $0.latest) : nil }
        return SegmentSummary(
            name: segment.name.text, first: segment.name.first, last: max(end, 1) - 1,
            earliest: (times?.0).map(WallTime.init(microseconds:)),
            latest: (times?.1).map(WallTime.init(microseconds:)), bytes: segment.size, isClosed: true,
            isIndexed: found != nil, endsWithCheckpoint: endsWithCheckpoint)
    }

    /// Returns whether the last line of a segment is a checkpoint; nil if it has no lines.
    private static func endsWithCheckpoint(_ index: SegmentIndex) throws -> Bool? {
        let rows = index.header.count(of: .rows)
        guard rows > 0 else { return nil }
        let reader = SegmentIndexReader(index)
        let (shape, shapes) = (try reader.row(UInt32(rows - 1)).shape, try reader.shapes())
        guard shapes.indices.contains(shape) else { throw AuditIndex.Failure(damaged: index.header.first) }
        return shapes[shape].kind == JournalRecord.Kind.checkpoint.rawValue
    }
}
