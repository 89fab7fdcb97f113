internal import GRDB

/// The tables of the index.
enum AuditSchema {
    /// Their version, in `user_version`. An index of another version is made anew.
    static let version = 2
    /// What `application_id` says of the file: "NGai".
    static let application = 0x4E47_6169

    /// Whether the database is empty. Throws where it holds anything but the tables of this version.
    static func isMissing(in database: Database) throws -> Bool {
        let found = try String.fetchAll(database, sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version")
        let application = try Int.fetchOne(database, sql: "PRAGMA application_id")
        if found.isEmpty, version == 0, application == 0 { return true }
        guard version == Self.version, application == Self.application,
            found.map(normalized).sorted() == statements.map(normalized).sorted()
        else {
            throw AuditIndex.Failure("the index has other tables, or is of version \(version ?? 0)", isDamage: true)
        }
        return false
    }

    /// Makes the tables, unless another process has done so meanwhile.
    static func prepare(_ database: Database) throws {
        guard try isMissing(in: database) else { return }
        for statement in statements { try database.execute(sql: statement) }
        try database.execute(sql: "PRAGMA user_version = \(version)")
        try database.execute(sql: "PRAGMA application_id = \(application)")
    }

    private static func normalized(_ sql: String) -> String {
        sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Words (users, results, kinds …) stand once in `word`; a record names them by number, so that a million records take some
    /// 150 MiB. The index by recipient answers who notified whom without a look at the records.
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
