internal import GRDB
internal import GatewayCore

extension AuditIndex {
    /// Hands over the lines that fit, in the journal's order; each as it stands in its segment, without its line feed. Blocks.
    ///
    /// - Parameter limit: How many at most; where there are more, the newest.
    /// - Returns: Whether there are more than the limit.
    @discardableResult
    public func lines(
        _ query: AuditQuery, limit: Int = .max, onLine: ([UInt8]) throws -> Void
    ) throws -> Bool {
        let selection = try database.read { try Self.selection(query, $0) }
        guard let selection else { return false }
        let isLimited = limit < Int.max - 1
        let sql =
            isLimited
            ? """
            SELECT * FROM (SELECT seq, segment, place, length FROM record WHERE \(selection.condition)
                ORDER BY seq DESC LIMIT \(limit + 1)) ORDER BY seq
            """ : "SELECT seq, segment, place, length FROM record WHERE \(selection.condition) ORDER BY seq"
        return try database.read { database in
            var rest: Int? =
                isLimited
                ? try Int.fetchOne(
                    database, sql: "SELECT COUNT(*) FROM (\(sql))", arguments: selection.arguments) : nil
            let isMore = (rest ?? 0) > limit
            var open: (first: Int64, reader: SegmentReader)?
            defer { open?.reader.close() }
            let rows = try Row.fetchCursor(database, sql: sql, arguments: selection.arguments)
            while let row = try rows.next() {
                if let left = rest {
                    rest = left - 1
                    if left > limit { continue }
                }
                let (seq, first): (Int64, Int64) = (row["seq"], row["segment"])
                if open?.first != first {
                    open?.reader.close()
                    open = nil
                    let name = JournalSegmentName(first: UInt64(clamping: first))
                    open = (first, try SegmentReader(files.path(name)))
                }
                let line = try open?.reader.read(from: row["place"], count: row["length"]) ?? []
                guard JournalLineReader(bytes: line[...]).sequence == UInt64(clamping: seq) else {
                    let index = "\(files.directory)/\(Self.fileName)"
                    throw Failure("line \(seq) is not where it was; remove \(index) and ask again")
                }
                try onLine(line)
            }
            return isMore
        }
    }

    /// The condition on records; nil where a word in it occurs nowhere.
    private static func selection(
        _ query: AuditQuery, _ database: Database
    ) throws -> (condition: String, arguments: StatementArguments)? {
        var conditions = ["1"]
        var arguments: StatementArguments = []
        let words: [(String, String?)] = [
            ("user", query.from?.text), ("user", query.user?.text), ("recipient", query.to?.text),
            ("action", query.action?.rawValue ?? (query.from == nil ? nil : Action.send.rawValue)),
            ("result", query.result),
        ]
        for (column, word) in words {
            guard let word else { continue }
            guard let number = try wordNumber(word, database) else { return nil }
            conditions.append("\(column) = ?")
            arguments += [number]
        }
        if let call = query.call {
            conditions.append("call = CAST(? AS BLOB)")
            arguments += [call]
        }
        if let since = query.since {
            conditions.append("at >= ?")
            arguments += [since.microseconds]
        }
        if let until = query.until {
            conditions.append("at < ?")
            arguments += [until.microseconds]
        }
        return (conditions.joined(separator: " AND "), arguments)
    }

    static func wordNumber(_ word: String, _ database: Database) throws -> Int64? {
        try Int64.fetchOne(database, sql: "SELECT id FROM word WHERE text = ?", arguments: [word])
    }
}
