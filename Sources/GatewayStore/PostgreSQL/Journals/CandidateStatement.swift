internal import GatewayCore
internal import PostgreSQLClient

/// The statement that returns the next rows of `journal_line` that match the conditions on columns.
///
/// It examines as many rows as its limit, in the order of an index: of the user, of the recipient, of the call, of the
/// rejected calls, or of the time. The conditions that no index has are applied to these rows only, so that rare results do
/// not make it read the whole table. The last examined row is always returned, because the next statement continues there.
///
/// Columns of the result: those of ``StoredRow``, then `matches`, and `size`: the number of examined rows, or 0 if each of
/// them is returned.
struct CandidateStatement {
    private typealias Condition = (sql: String, arguments: [PostgreSQLValue])

    private let indexed: [Condition]
    private let other: [Condition]
    private let direction: String
    private let comparison: String

    /// Creates the statement for the conditions of a query.
    init(_ filter: AuditFilter, newestFirst: Bool) {
        direction = newestFirst ? "DESC" : "ASC"
        comparison = newestFirst ? "<" : ">"
        // One condition always exists, so that the text needs no other form.
        var indexed: [Condition] = [("at >= ?", [.integer(filter.earliest)])]
        var other: [Condition] = []
        if filter.until != .max { indexed.append(("at < ?", [.integer(filter.until)])) }
        if let call = filter.call { indexed.append(("call = ?", [.text(String(decoding: call, as: UTF8.self))])) }
        for word in filter.words {
            let condition = ("\"\(word.column.rawValue)\" = ?", [PostgreSQLValue.text(word.text)])
            switch word.column {
            case .user, .recipient: indexed.append(condition)
            // Rejected calls are rare, and have an index.
            case .kind where word.text == JournalRecord.Kind.rejection.rawValue: indexed.append(condition)
            case .action, .kind, .result: other.append(condition)
            }
        }
        if filter.hidesChainRecords {
            other += AuditQuery.chainKinds.map { ("kind IS DISTINCT FROM ?", [.text($0.rawValue)]) }
        }
        self.indexed = indexed
        self.other = other
    }

    /// Returns the statement and its arguments.
    ///
    /// - Parameters:
    ///   - place: The place from which it goes on; nil for the first or last line.
    ///   - limit: The maximum number of rows that it examines.
    func make(from place: LineKey?, limit: Int) -> (sql: String, arguments: [PostgreSQLValue]) {
        var conditions = indexed
        if let place {
            conditions.append(
                (
                    "(at, instance, chain, number) \(comparison) (?, ?, ?, ?)",
                    [.integer(place.at), .text(place.instance), .integer(place.chain), .integer(place.number)]
                ))
        }
        let order = "at \(direction), instance \(direction), chain \(direction), number \(direction)"
        let candidates = """
            FROM journal_line WHERE \(conditions.map(\.sql).joined(separator: " AND ")) ORDER BY \(order) LIMIT ?
            """
        let sql =
            other.isEmpty
            ? "SELECT at, instance, chain, number, line, true AS matches, 0 AS size \(candidates)"
            : """
            SELECT at, instance, chain, number, CASE WHEN matches THEN line ELSE '' END AS line, matches, size
            FROM (
                SELECT at, instance, chain, number, line,
                    (\(other.map(\.sql).joined(separator: " AND "))) IS TRUE AS matches,
                    row_number() OVER (ORDER BY \(order)) AS position, count(*) OVER () AS size
                FROM (SELECT * \(candidates)) AS candidate
            ) AS examined
            WHERE matches OR position = size ORDER BY \(order)
            """
        // In the order of the placeholders.
        return (sql, (other + conditions).flatMap(\.arguments) + [.integer(Int64(limit))])
    }
}
