internal import Foundation
internal import GRDB
internal import GatewayCore

/// The result of comparing the index with the journal.
public enum IndexComparison: Sendable, Hashable {
    /// No index exists, or none that was closed cleanly. The next query rebuilds it.
    case absent
    /// The index matches the segments in this number of lines.
    case agrees(lines: UInt64)
    /// The index contradicts the segments.
    case differs(String)
    /// The index could not be read.
    case unreadable(String)
}

extension AuditTrail {
    /// Compares every row of the index with its line, and every line with its row. Writes no file in the journal's
    /// directory. Reads the whole journal and blocks for that time; intended for commands.
    public static func compareIndex(
        directory: String, progress: (UInt64, UInt64) -> Void = { _, _ in }
    ) -> IndexComparison {
        do {
            guard let snapshot = try IndexSnapshot(directory: directory) else { return .absent }
            defer { snapshot.close() }
            let files = SegmentFiles(directory: directory)
            let lines = try snapshot.database.read { try AuditIndex.compare($0, files, progress: progress) }
            return lines.map(IndexComparison.agrees) ?? .absent
        } catch {
            let failure = AuditIndex.Failure(error)
            return failure.isDamage ? .differs(failure.description) : .unreadable(failure.description)
        }
    }

    /// Marks the index for a rebuild. The process that uses the index rebuilds it at its next update; if no process
    /// uses it, the next query does. Until then queries read the segments.
    ///
    /// - Returns: The reason why the index cannot be discarded; nil on success.
    public func discardIndex() -> AuditIndex.Failure? {
        do throws(AuditIndex.Failure) { _ = try opened() } catch { return error }
        _ = discardIndex(after: AuditIndex.Failure("it was discarded", isDamage: true))
        return nil
    }
}

extension AuditIndex {
    /// Returns the number of lines that match; nil if the index is empty. Throws at the first difference.
    fileprivate static func compare(
        _ database: Database, _ files: SegmentFiles, progress: (UInt64, UInt64) -> Void
    ) throws -> UInt64? {
        let known = try Row.fetchAll(database, sql: "SELECT first, bytes FROM segment ORDER BY first").map { row in
            (try row.decode(Int64.self, atIndex: 0), try row.decode(Int64.self, atIndex: 1))
        }
        guard !known.isEmpty else { return nil }
        var comparison = try RowComparison(database)
        let present = Dictionary(
            try files.list().map { (Int64(clamping: $0.name.first), $0) }, uniquingKeysWith: { first, _ in first })
        let total = known.reduce(UInt64(0)) { $0 &+ UInt64(clamping: $1.1) }
        var done: UInt64 = 0
        for (index, (first, bytes)) in known.enumerated() {
            progress(done, total)
            done &+= UInt64(clamping: bytes)
            // Retention has removed the segment or is about to.
            guard let segment = present[first] else { continue }
            guard bytes >= 0, UInt64(bytes) <= segment.size else {
                throw Failure("segment \(first) is shorter than its index entry", isDamage: true)
            }
            let end = index + 1 < known.count ? UInt64(clamping: known[index + 1].0) : nil
            let part = SegmentFiles.ListedSegment(name: segment.name, size: UInt64(bytes))
            try AuditScan(files).visit(part, before: end) { line in
                guard line.location.offset < Int(bytes) else { return }
                try comparison.compare(line)
            }
        }
        try comparison.finish(skipping: { present[$0] == nil })
        let check = try String.fetchOne(database, sql: "PRAGMA integrity_check(1)")
        guard check == "ok" else { throw Failure("SQLite: \(check ?? "integrity check failed")", isDamage: true) }
        progress(total, total)
        return comparison.lines
    }
}

/// Reads the index rows and the journal lines in parallel and compares them.
private struct RowComparison {
    private let rows: RowCursor
    private var words: [Int64: String] = [:]
    private var row: Row?
    /// The number of lines that match their rows.
    private(set) var lines: UInt64 = 0

    private static let members: [StaticString] = ["kind", "action", "user", "recipient", "pns", "result"]

    init(_ database: Database) throws {
        for word in try Row.fetchAll(database, sql: "SELECT id, text FROM word") {
            words[try word.decode(Int64.self, atIndex: 0)] = try word.decode(String.self, atIndex: 1)
        }
        rows = try Row.fetchCursor(
            database,
            sql: """
                SELECT seq, segment, place, length, at, count, call, kind, action, user, recipient, pns, result FROM record
                ORDER BY seq
                """)
        row = try rows.next()
    }

    /// Compares the next line with its row. Skips rows of removed segments.
    mutating func compare(_ line: AuditScan.Line) throws {
        while let row, try row.decode(Int64.self, atIndex: 0) < Int64(clamping: line.number) {
            guard try row.decode(Int64.self, atIndex: 1) < Int64(clamping: line.location.segment.first) else {
                throw difference(try row.decode(Int64.self, atIndex: 0))
            }
            self.row = try rows.next()
        }
        guard let row else { throw difference(Int64(clamping: line.number)) }
        let numbers = [
            Int64(clamping: line.number), Int64(clamping: line.location.segment.first), Int64(line.location.offset),
            Int64(line.location.length), line.time, line.reader.count,
        ]
        for (column, number) in numbers.enumerated() {
            guard try row.decode(Int64.self, atIndex: column) == number else { throw difference(numbers[0]) }
        }
        guard try row.decode(Data?.self, atIndex: 6).map({ Array($0) }) == line.location.call else {
            throw difference(numbers[0])
        }
        for (column, member) in Self.members.enumerated() {
            let word = try row.decode(Int64?.self, atIndex: 7 + column)
            guard word == nil || words[word ?? 0] != nil, word.flatMap({ words[$0] }) == line.reader.text(member) else {
                throw difference(numbers[0])
            }
        }
        lines += 1
        self.row = try rows.next()
    }

    /// Checks that all remaining rows belong to removed segments.
    mutating func finish(skipping isGone: (Int64) -> Bool) throws {
        while let row {
            guard isGone(try row.decode(Int64.self, atIndex: 1)) else {
                throw difference(try row.decode(Int64.self, atIndex: 0))
            }
            self.row = try rows.next()
        }
    }

    private func difference(_ number: Int64) -> AuditIndex.Failure {
        AuditIndex.Failure("the index entry of line \(number) does not match the journal", isDamage: true)
    }
}
