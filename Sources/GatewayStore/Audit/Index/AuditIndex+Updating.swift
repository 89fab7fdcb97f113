internal import Foundation
internal import GRDB
internal import GatewayCore

extension AuditIndex {
    /// Brings the index up to what the segments hold: reads what was appended since, forgets what was removed, and reads
    /// anew what is not as it was. Blocks: some seconds for a million new records, next to nothing where there are none.
    ///
    /// - Parameters:
    ///   - progress: Told now and then how many bytes of how many have been read.
    ///   - isWanted: Asked before each block; where it is wanted no longer, the rest is left for the next time.
    public func update(
        progress: (UInt64, UInt64) -> Void = { _, _ in }, isWanted: () -> Bool = { true }
    ) throws(Failure) {
        do {
            let segments = try files.list()
            let total = segments.reduce(0) { $0 + $1.size }
            var done: UInt64 = 0
            // Where nothing was appended nothing is written: whoever only asks leaves the database as it was closed.
            if try database.read({ try AuditUpdate($0, files).isComplete(segments) }) { return progress(total, total) }
            try write { try AuditUpdate($0, files).forget(allBut: segments) }
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

/// One transaction that brings the index closer to the segments.
struct AuditUpdate {
    private let database: Database
    private let files: SegmentFiles

    init(_ database: Database, _ files: SegmentFiles) {
        self.database = database
        self.files = files
    }

    /// What the index has of a segment.
    private struct Known {
        let first: UInt64
        let bytes: Int
        let lastPlace: Int
        let lastHash: [UInt8]

        /// Throws where the row holds what was never written.
        init(_ row: Row) throws {
            let first = try row.decode(Int64.self, forColumn: "first")
            bytes = try row.decode(Int.self, forColumn: "bytes")
            lastPlace = try row.decode(Int.self, forColumn: "last_place")
            lastHash = Array(try row.decode(Data.self, forColumn: "last_hash"))
            guard first >= 0, lastPlace >= 0, bytes >= lastPlace else {
                throw AuditIndex.Failure("the index names an impossible place in a segment", isDamage: true)
            }
            self.first = UInt64(first)
        }
    }

    /// Whether the index has all that the segments hold, and nothing else.
    func isComplete(_ segments: [SegmentFiles.Found]) throws -> Bool {
        let known = try known()
        guard known.map(\.first) == segments.map(\.name.first),
            zip(known, segments).allSatisfy({ UInt64($0.bytes) == $1.size })
        else { return false }
        return try known.last.map { try isAsItWas($0, in: segments, reading: true) } ?? true
    }

    /// Forgets segments that are gone, and all from the first one on that is not as it was read.
    func forget(allBut segments: [SegmentFiles.Found]) throws {
        let known = try known()
        let present = Set(segments.map(\.name.first))
        if let first = segments.first.map({ Int64(clamping: $0.name.first) }) {
            try database.execute(sql: "DELETE FROM record WHERE seq < ?", arguments: [first])
            try database.execute(sql: "DELETE FROM segment WHERE first < ?", arguments: [first])
        }
        for (place, segment) in known.enumerated() where segment.first >= segments.first?.name.first ?? 0 {
            let isGone = !present.contains(segment.first)
            // Only the last one grows; the others are looked at by their length alone.
            let isLast = place == known.count - 1
            if try isGone || !isAsItWas(segment, in: segments, reading: isLast) {
                try forget(from: segment.first)
                return
            }
        }
    }

    /// Reads a block of what the segment has and the index lacks. False where there is no whole line more.
    func readBlock(of segment: SegmentFiles.Found, before end: UInt64?) throws -> Bool {
        let first = segment.name.first
        let known = try known(first)
        // What a failed write left in the segment before has this one's numbers, and is void.
        if known == nil {
            try database.execute(sql: "DELETE FROM record WHERE seq >= ?", arguments: [Int64(clamping: first)])
        }
        let start = known?.bytes ?? 0
        // Only the last segment is written to.
        guard segment.size > UInt64(start),
            let bytes = try files.ifPresent({ () throws(FileFailure) in
                try files.block(of: segment, from: start, isGrowing: end == nil)
            })
        else { return false }
        let inserter = try AuditInserter(database)
        var offset = 0
        var last = known.map { (place: $0.lastPlace, hash: $0.lastHash) }
        while let lineEnd = ChainCheck.endOfLine(in: bytes, from: offset) {
            let line = JournalLineReader(bytes: bytes[offset..<lineEnd])
            if let number = line.sequence, end.map({ number < $0 }) ?? true {
                try inserter.insert(line, number, segment: first, place: start + offset)
                last = (start + offset, Array(line.bytes.suffix(Self.hashTail)))
            }
            offset = lineEnd + 1
        }
        try database.execute(
            sql: "INSERT OR REPLACE INTO segment (first, bytes, last_place, last_hash) VALUES (?, ?, ?, ?)",
            arguments: [Int64(clamping: first), start + bytes.count, last?.place ?? 0, Data(last?.hash ?? [])])
        return true
    }

    /// The end of a line by which it is recognised: its hash.
    private static let hashTail = 66

    private func isAsItWas(_ known: Known, in segments: [SegmentFiles.Found], reading: Bool) throws -> Bool {
        guard let found = segments.first(where: { $0.name.first == known.first }),
            found.size >= UInt64(known.bytes)
        else { return false }
        guard reading, !known.lastHash.isEmpty else { return true }
        // As long as no line is missing, one of the same hash means that all before it are the same.
        let bytes = try files.ifPresent { () throws(FileFailure) in
            try files.read(found.name, from: known.lastPlace, count: known.bytes - known.lastPlace)
        }
        guard let bytes, let end = ChainCheck.endOfLine(in: bytes, from: 0) else { return false }
        return bytes[..<end].suffix(Self.hashTail).elementsEqual(known.lastHash)
    }

    private func forget(from first: UInt64) throws {
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
