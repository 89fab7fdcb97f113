internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

extension AuditIndex {
    /// Updates the index from the segments: reads appended lines, removes the entries of removed segments, and reads
    /// changed segments again. Blocks for some seconds per million new lines, and hardly at all if there are none.
    ///
    /// - Parameters:
    ///   - progress: Receives the bytes read so far and the total, before each segment and at the end.
    ///   - isWanted: Checked before each block. If it returns false, the update stops and a later update continues.
    public func update(
        progress: (UInt64, UInt64) -> Void = { _, _ in }, isWanted: () -> Bool = { true }
    ) throws(Failure) {
        do {
            let segments = try files.list()
            let total = segments.reduce(0) { $0 + $1.size }
            var done: UInt64 = 0
            // Do not write if no line was appended, so that a process that only queries leaves the clean shutdown
            // marker valid.
            if try database.read({ try AuditUpdate($0, files).isComplete(segments) }) { return progress(total, total) }
            try write { try AuditUpdate($0, files).removeEntries(except: segments) }
            for (index, segment) in segments.enumerated() {
                progress(done, total)
                let end = index + 1 < segments.count ? segments[index + 1].name.first : nil
                repeat {
                    guard isWanted() else { return }
                } while try write({ try AuditUpdate($0, files).readBlock(of: segment, before: end) })
                done += segment.size
            }
            progress(total, total)
        } catch {
            throw Failure(error)
        }
    }
}

/// One transaction that updates part of the index from the segments.
struct AuditUpdate {
    private let database: Database
    private let files: SegmentFiles

    init(_ database: Database, _ files: SegmentFiles) {
        self.database = database
        self.files = files
    }

    /// The index's row for a segment.
    private struct Known {
        let first: UInt64
        let bytes: Int
        let lastOffset: Int
        let lastHash: [UInt8]

        /// Throws if the row holds values that the index never writes.
        init(_ row: Row) throws {
            let first = try row.decode(Int64.self, forColumn: "first")
            bytes = try row.decode(Int.self, forColumn: "bytes")
            lastOffset = try row.decode(Int.self, forColumn: "last_place")
            lastHash = Array(try row.decode(Data.self, forColumn: "last_hash"))
            guard first >= 0, lastOffset >= 0, bytes >= lastOffset else {
                throw AuditIndex.Failure("the index contains an invalid position in a segment", isDamage: true)
            }
            self.first = UInt64(first)
        }
    }

    /// Returns whether the index covers exactly these segments up to their present sizes.
    func isComplete(_ segments: [SegmentFiles.ListedSegment]) throws -> Bool {
        let known = try known()
        guard known.map(\.first) == segments.map(\.name.first),
            zip(known, segments).allSatisfy({ UInt64($0.bytes) == $1.size })
        else { return false }
        return try known.last.map { try isUnchanged($0, in: segments, reading: true) } ?? true
    }

    /// Removes the entries of segments that no longer exist, and of all segments from the first changed one on.
    func removeEntries(except segments: [SegmentFiles.ListedSegment]) throws {
        let known = try known()
        let present = Set(segments.map(\.name.first))
        if let first = segments.first.map({ Int64(clamping: $0.name.first) }) {
            try database.execute(sql: "DELETE FROM record WHERE seq < ?", arguments: [first])
            try database.execute(sql: "DELETE FROM segment WHERE first < ?", arguments: [first])
        }
        for (index, segment) in known.enumerated() where segment.first >= segments.first?.name.first ?? 0 {
            let isGone = !present.contains(segment.first)
            // Only the last segment grows. The others are checked by their size alone.
            let isLast = index == known.count - 1
            if try isGone || !isUnchanged(segment, in: segments, reading: isLast) {
                try removeEntries(from: segment.first)
                return
            }
        }
    }

    /// Indexes the next block of the segment. Returns false if no complete line is left.
    func readBlock(of segment: SegmentFiles.ListedSegment, before end: UInt64?) throws -> Bool {
        let first = segment.name.first
        let known = try known(first)
        // A failed write may have left lines with the numbers of this segment in the previous one. Remove their rows.
        if known == nil {
            try database.execute(sql: "DELETE FROM record WHERE seq >= ?", arguments: [Int64(clamping: first)])
        }
        let start = known?.bytes ?? 0
        // Only the last segment is still written to.
        guard segment.size > UInt64(start),
            let bytes = try files.ifPresent({ () throws(FileFailure) in
                try files.block(of: segment, from: start, isGrowing: end == nil)
            })
        else { return false }
        let inserter = try AuditInserter(database)
        var offset = 0
        var last = known.map { (offset: $0.lastOffset, hash: $0.lastHash) }
        while let lineEnd = ChainCheck.endOfLine(in: bytes, from: offset) {
            let line = JournalLineReader(bytes: bytes[offset..<lineEnd])
            if let number = line.sequence, end.map({ number < $0 }) ?? true {
                try inserter.insert(line, number, segment: first, offset: start + offset)
                last = (start + offset, Array(line.bytes.suffix(Self.hashTail)))
            }
            offset = lineEnd + 1
        }
        try database.execute(
            sql: "INSERT OR REPLACE INTO segment (first, bytes, last_place, last_hash) VALUES (?, ?, ?, ?)",
            arguments: [Int64(clamping: first), start + bytes.count, last?.offset ?? 0, Data(last?.hash ?? [])])
        return true
    }

    /// The length of a line's tail that identifies it. The tail contains the hash.
    private static let hashTail = 66

    private func isUnchanged(_ known: Known, in segments: [SegmentFiles.ListedSegment], reading: Bool) throws -> Bool {
        guard let found = segments.first(where: { $0.name.first == known.first }),
            found.size >= UInt64(known.bytes)
        else { return false }
        guard reading, !known.lastHash.isEmpty else { return true }
        // If the last known line has the same hash, the lines before it are the same, because each hash covers the
        // previous one.
        let bytes = try files.ifPresent { () throws(FileFailure) in
            try files.read(found.name, from: known.lastOffset, count: known.bytes - known.lastOffset)
        }
        guard let bytes, let end = ChainCheck.endOfLine(in: bytes, from: 0) else { return false }
        return bytes[..<end].suffix(Self.hashTail).elementsEqual(known.lastHash)
    }

    private func removeEntries(from first: UInt64) throws {
        try database.execute(sql: "DELETE FROM record WHERE seq >= ?", arguments: [Int64(clamping: first)])
        try database.execute(sql: "DELETE FROM segment WHERE first >= ?", arguments: [Int64(clamping: first)])
    }

    private func known() throws -> [Known] {
        let rows = try Row.fetchAll(
            database, sql: "SELECT first, bytes, last_place, last_hash FROM segment ORDER BY first")
        return try rows.map(Known.init)
    }

    private func known(_ first: UInt64) throws -> Known? { try known().first { $0.first == first } }
}
