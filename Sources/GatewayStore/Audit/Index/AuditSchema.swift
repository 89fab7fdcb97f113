internal import GRDB

/// The tables of the index.
enum AuditSchema {
    /// The schema version, stored in `user_version`. An index of another version is rebuilt.
    static let version = 2
    /// The file's `application_id`: "NGai".
    static let application = 0x4E47_6169

    /// Returns whether the database is empty. Throws if it holds other tables than those of this version.
    static func isMissing(in database: Database) throws -> Bool {
        let found = try String.fetchAll(database, sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version")
        let application = try Int.fetchOne(database, sql: "PRAGMA application_id")
        if found.isEmpty, version == 0, application == 0 { return true }
        guard version == Self.version, application == Self.application,
            found.map(normalized).sorted() == statements.map(normalized).sorted()
        else {
            throw AuditIndex.Failure("unexpected tables, or schema version \(version ?? 0)", isDamage: true)
        }
        return false
    }

    /// Creates the tables, unless another process has just created them.
    static func prepare(_ database: Database) throws {
        guard try isMissing(in: database) else { return }
        for statement in statements { try database.execute(sql: statement) }
        try database.execute(sql: "PRAGMA user_version = \(version)")
        try database.execute(sql: "PRAGMA application_id = \(application)")
    }

    private static func normalized(_ sql: String) -> String {
        sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Each word (user, result, kind …) is stored once in `word`, and records refer to it by number. A million records
    /// take about 150 MiB. The index by recipient covers the query for senders, which therefore reads no record rows.
    private static let statements = [
        "CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
        """
        CREATE TABLE segment (
            first INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, last_place INTEGER NOT NULL, last_hash BLOB NOT NULL)
        """,
        """
        CREATE TABLE record (
            seq INTEGER PRIMARY KEY, segment INTEGER NOT NULL, place INTEGER NOT NULL, length INTEGER NOT NULL,
            at INTEGER NOT NULL, kind INTEGER NOT NULL, call BLOB, action INTEGER, user INTEGER, recipient INTEGER,
            pns INTEGER, result INTEGER, count INTEGER NOT NULL)
        """,
        """
        CREATE INDEX record_by_recipient ON record (recipient, seq, at, kind, action, user, pns, result, count)
            WHERE recipient IS NOT NULL
        """,
        "CREATE INDEX record_by_user ON record (user, seq) WHERE user IS NOT NULL",
        "CREATE INDEX record_by_call ON record (call) WHERE call IS NOT NULL",
    ]
}
