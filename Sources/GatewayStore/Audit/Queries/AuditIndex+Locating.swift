internal import Foundation
internal import GRDB
internal import GatewayCore

extension AuditIndex {
    /// Passes the matching lines to `onLine` in the journal's order, without their line feeds. Blocks.
    /// For tests and benchmarks, which query the index alone; the commands query an `AuditTrail`.
    ///
    /// - Parameter limit: The maximum number of lines. If more match, the newest are returned.
    /// - Returns: Whether more lines match than the limit.
    @discardableResult
    public func lines(
        _ query: AuditQuery, limit: Int = .max, onLine: ([UInt8]) throws -> Void
    ) throws -> Bool {
        try AuditListing(query, self, files).lines(limit: limit) { try onLine($1) }
    }

    /// Returns the number that stands for the word in the index; nil if the index lacks the word.
    static func wordNumber(_ word: String, _ database: Database) throws -> Int64? {
        try Int64.fetchOne(database, sql: "SELECT id FROM word WHERE text = ?", arguments: [word])
    }
}

extension AuditIndex: AuditLocator {
    /// The number of rows read in one transaction. Visitors run outside the transaction, so that they delay no writer.
    private static let rowsPerRead = 2000

    func locate(_ filter: AuditFilter, newestFirst: Bool, _ visit: (AuditLocation) throws -> Bool) throws {
        var bound: Int64 = newestFirst ? .max : -1
        while true {
            let rows = try rows(of: filter, newestFirst ? "seq < ?" : "seq > ?", bound, newestFirst)
            for row in rows { guard try visit(row) else { return } }
            guard rows.count == Self.rowsPerRead, let last = rows.last else { return }
            bound = Int64(clamping: last.number)
        }
    }

    func locations(ofCalls calls: Set<[UInt8]>) throws -> [[UInt8]: [AuditLocation]] {
        try guarded { database in
            let statement = try database.makeStatement(
                sql: "SELECT seq, segment, place, length, call FROM record WHERE call = ? ORDER BY seq")
            var found: [[UInt8]: [AuditLocation]] = [:]
            for call in calls {
                found[call] = try Row.fetchAll(statement, arguments: [Data(call)]).map(AuditLocation.init)
            }
            return found
        }
    }

    private func rows(
        of filter: AuditFilter, _ comparison: String, _ bound: Int64, _ newestFirst: Bool
    ) throws -> [AuditLocation] {
        try guarded { database in
            guard let condition = try filter.condition(database) else { return [] }
            return try Row.fetchAll(
                database,
                sql: """
                    SELECT seq, segment, place, length, call FROM record WHERE \(comparison)\(condition.sql)
                    ORDER BY seq \(newestFirst ? "DESC" : "ASC") LIMIT \(Self.rowsPerRead)
                    """, arguments: [bound] + condition.arguments
            ).map(AuditLocation.init)
        }
    }

    /// Runs the body in one read transaction and converts every error to ``Failure``.
    func guarded<Result>(_ body: (Database) throws -> Result) throws(Failure) -> Result {
        do {
            return try database.read(body)
        } catch {
            throw Failure(error)
        }
    }
}

extension AuditLocation {
    /// Decodes the location in a row of the index. Throws if the values are out of range.
    init(_ row: Row) throws {
        let number = try row.decode(Int64.self, forColumn: "seq")
        let segment = try row.decode(Int64.self, forColumn: "segment")
        let offset = try row.decode(Int.self, forColumn: "place")
        let length = try row.decode(Int.self, forColumn: "length")
        guard number >= 0, segment >= 0, offset >= 0, (1...AuditLocation.maximumLength).contains(length) else {
            throw AuditIndex.Failure("the index contains an invalid position for line \(number)", isDamage: true)
        }
        self.init(
            number: UInt64(number), segment: JournalSegmentName(first: UInt64(segment)), offset: offset, length: length,
            call: try row.decode(Data?.self, forColumn: "call").map { Array($0) })
    }
}
