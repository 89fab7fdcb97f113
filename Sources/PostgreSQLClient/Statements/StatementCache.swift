internal import CLibpq

/// The statements that one connection has prepared, by their text and the types of their arguments.
struct StatementCache {
    /// A statement for certain types of arguments.
    struct Prepared {
        /// The name on the server.
        let name: String
        /// The types that it was prepared with; 0 where the server inferred one from a NULL.
        let types: [Oid]

        /// Whether arguments of these types fit: NULL fits everywhere.
        func accepts(_ arguments: [Oid]) -> Bool {
            zip(types, arguments).allSatisfy { $0 == $1 || $1 == TypeIdentifier.inferred }
        }
    }

    private struct Entry {
        let translated: TranslatedStatement
        var prepared: [Prepared] = []
    }

    /// The most prepared statements. Statements beyond them are sent as a whole each time.
    static let limit = 500
    private var entries: [String: Entry] = [:]
    private var preparedCount = 0
    private var lastNumber = 0

    /// Returns the translation of a statement, which is kept for statements that are prepared.
    func translation(of sql: String) throws(PostgreSQLError) -> TranslatedStatement {
        if let entry = entries[sql] { return entry.translated }
        return try TranslatedStatement(sql)
    }

    /// Returns the prepared statement that these arguments fit.
    func find(_ sql: String, _ types: [Oid]) -> Prepared? {
        entries[sql]?.prepared.first { $0.accepts(types) }
    }

    /// Returns a name for a new statement, or nil if the connection has prepared as many as it may.
    mutating func makeName() -> String? {
        guard preparedCount < Self.limit else { return nil }
        lastNumber &+= 1
        return "s\(lastNumber)"
    }

    /// Adds a statement that the server has prepared, or is about to prepare before it is used.
    mutating func insert(_ sql: String, _ translated: TranslatedStatement, _ prepared: Prepared) {
        preparedCount += 1
        entries[sql, default: Entry(translated: translated)].prepared.append(prepared)
    }

    /// Forgets a statement that the server did not prepare after all.
    mutating func removeUnprepared(_ sql: String, _ prepared: Prepared) {
        preparedCount -= 1
        entries[sql]?.prepared.removeAll { $0.name == prepared.name }
        if entries[sql]?.prepared.isEmpty == true { entries[sql] = nil }
    }

    /// Forgets the statements with this text. Their names are not used again, and the server may still have them.
    mutating func remove(_ sql: String) {
        // They still count, so the server's number is bounded too.
        entries[sql] = nil
    }
}
