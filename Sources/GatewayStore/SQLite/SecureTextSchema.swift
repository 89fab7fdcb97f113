internal import GRDB
internal import GatewayCore

/// The tables of stored texts and their version, stored in `PRAGMA user_version`.
enum SecureTextSchema {
    /// The version of the tables.
    static let version = 1

    /// Creates the tables in an empty database. Throws for tables of another version.
    static func prepare(_ database: Database) throws {
        switch try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0 {
        case version: return
        case 0:
            guard try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") == 0 else {
                throw LedgerUnavailable("the database contains tables of another program")
            }
            try database.execute(sql: schema)
            try database.execute(sql: "PRAGMA user_version = \(version)")
        case let other:
            throw LedgerUnavailable("the texts have schema version \(other); this program reads version \(version)")
        }
    }

    /// `key` is the fingerprint of the key that sealed the text, `delivery` the time of the push. The index
    /// `text_owner` contains everything that a start counts, so that it reads no text.
    private static let schema = """
        CREATE TABLE text (
            id INTEGER PRIMARY KEY, owner TEXT NOT NULL, key INTEGER NOT NULL, delivery INTEGER NOT NULL,
            expiry INTEGER NOT NULL, fetched INTEGER, size INTEGER NOT NULL, sealed BLOB NOT NULL
        ) STRICT;
        CREATE INDEX text_owner ON text (owner, id, key, size);
        CREATE INDEX text_unfetched ON text (owner, delivery) WHERE fetched IS NULL;
        CREATE INDEX text_expiry ON text (expiry);
        """
}
