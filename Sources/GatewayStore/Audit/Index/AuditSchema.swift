internal import GRDB

/// The tables of the index.
enum AuditSchema {
    /// Their version, in `user_version`. An index of another version is made anew.
    static let version = 1

    static func prepare(_ database: Database) throws {
        let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        if found == version { return }
        guard found == 0 else { throw AuditIndex.Failure("the index is of version \(found)") }
        try database.execute(sql: tables)
        try database.execute(sql: "PRAGMA user_version = \(version)")
    }

    /// Words (users, results, kinds …) stand once in `word`; a record names them by number, so that a million records take some
    /// 150 MiB. The index by recipient answers who notified whom without a look at the records.
    private static let tables = """
        CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
        CREATE TABLE segment (
            first INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, last_place INTEGER NOT NULL, last_hash BLOB NOT NULL);
        CREATE TABLE record (
            seq INTEGER PRIMARY KEY, segment INTEGER NOT NULL, place INTEGER NOT NULL, length INTEGER NOT NULL,
            at INTEGER NOT NULL, kind INTEGER NOT NULL, call BLOB, action INTEGER, user INTEGER, recipient INTEGER,
            pns INTEGER, result INTEGER, count INTEGER NOT NULL);
        CREATE INDEX record_by_recipient ON record (recipient, seq, at, kind, action, user, pns, result, count)
            WHERE recipient IS NOT NULL;
        CREATE INDEX record_by_user ON record (user, seq) WHERE user IS NOT NULL;
        CREATE INDEX record_by_call ON record (call) WHERE call IS NOT NULL;
        """
}
