internal import GatewaySupport

extension AuditIndex: IndexedSegments {
    /// See ``IndexedSegments``.
    package func segment(first: UInt64, before end: UInt64) -> (any IndexedSegment)? {
        let name = JournalSegmentName(first: first)
        let path = "\(files.directory)/\(Self.fileName(first: first))"
        guard let size = try? SystemFileSystem().size(files.path(name)),
            let index = try? SegmentIndex(path, first: first, seal: seal),
            case let segment = SegmentFiles.ListedSegment(name: name, size: size),
            index.covers(segment, before: end), (try? index.isOf(segment, files)) ?? false
        else { return nil }
        return StoredSegmentIndex(reader: SegmentIndexReader(index), files: files, name: name)
    }
}

/// The index of one segment as a start uses it. Confined to one thread.
private struct StoredSegmentIndex: IndexedSegment {
    let reader: SegmentIndexReader
    let files: SegmentFiles
    let name: JournalSegmentName

    private var header: SegmentIndex.Header { reader.index.header }

    var lastTime: WallTime? { header.count(of: .rows) == 0 ? nil : WallTime(microseconds: header.lastTime) }

    var hasStart: Bool { header.lastStart != SegmentIndex.none }

    func unmatchedLines() throws -> [[UInt8]] {
        let start = header.lastStart
        return try lines(reader.rows(in: .unmatched).filter { start == SegmentIndex.none || $0 > start })
    }

    func keyedLines(atMost limit: Int) throws -> [[UInt8]]? {
        header.count(of: .keyed) > limit ? nil : try lines(reader.rows(in: .keyed))
    }

    private func lines(_ rows: [UInt32]) throws -> [[UInt8]] {
        if rows.isEmpty { return [] }
        let segment = try SegmentReader(files.path(name))
        defer { segment.close() }
        return try rows.map { number in
            let row = try reader.row(number)
            let line = try segment.read(from: row.offset, count: min(row.length, SegmentIndex.maximumLineBytes))
            guard JournalLineReader(bytes: line[...]).sequence == row.number else {
                throw AuditIndex.Failure(damaged: name.first)
            }
            return line
        }
    }
}
