internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// The SQL statements on stored texts. Valid only during the database access that created it.
struct SecureTextTables: DatabaseTables {
    /// A stored text as far as the bounds count it.
    struct Counted {
        let place: SecureTextReservation.Place
        let bytes: Int
    }

    /// A sealed text with what it was sealed for.
    struct Sealed {
        let bytes: [UInt8]
        let expiry: WallTime
        let wasFetched: Bool
    }

    let database: Database

    init(_ database: Database) { self.database = database }

    /// The version of the tables, in `PRAGMA user_version`.
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

    func insert(
        _ sealed: [UInt8], _ place: SecureTextReservation.Place, key: Int64, delivery: WallTime, expiry: WallTime
    ) throws {
        try database.execute(
            sql: "INSERT INTO text (id, owner, key, delivery, expiry, size, sealed) VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                place.id.number, place.owner.text, key, delivery.microseconds, expiry.microseconds, sealed.count,
                Data(sealed),
            ])
    }

    /// Looks up a text by its owner first: the texts of other users are not visited, so that the duration tells nothing
    /// about them.
    static let select = """
        SELECT sealed, expiry, fetched FROM text INDEXED BY text_owner
        WHERE owner = ? AND id = ? AND key = ? AND expiry > ?
        """

    func text(_ id: Int32, of owner: UserName, key: Int64, now: WallTime) throws -> Sealed? {
        guard
            let row = try Row.fetchOne(
                database.cachedStatement(sql: Self.select), arguments: [owner.text, id, key, now.microseconds])
        else { return nil }
        return Sealed(
            bytes: Array(try row.required("sealed", as: Data.self)), expiry: try row.time("expiry"),
            wasFetched: try row.optional("fetched", as: Int64.self) != nil)
    }

    static let selectUnfetched = """
        SELECT id, delivery FROM text INDEXED BY text_unfetched
        WHERE owner = ? AND fetched IS NULL AND delivery BETWEEN ? AND ? AND key = ? AND expiry > ?
        ORDER BY delivery DESC LIMIT ?
        """

    func unfetched(
        by owner: UserName, since: WallTime?, limit: Int, key: Int64, now: WallTime
    ) throws -> [UnfetchedText] {
        let rows = try Row.fetchAll(
            database.cachedStatement(sql: Self.selectUnfetched),
            arguments: [owner.text, since?.microseconds ?? 0, now.microseconds, key, now.microseconds, limit])
        return try rows.compactMap { row in
            try SecureID(row.required("id", as: Int64.self)).map {
                UnfetchedText(id: $0, delivery: try row.time("delivery"))
            }
        }
    }

    func markFetched(_ id: SecureID, at time: WallTime) throws {
        try database.execute(
            sql: "UPDATE text SET fetched = ? WHERE id = ? AND fetched IS NULL",
            arguments: [time.microseconds, id.number])
    }

    func remove(_ ids: [SecureID]) throws -> [Counted] {
        try ids.flatMap { try removed("id = ?", [$0.number]) }
    }

    func removeAll(of owner: UserName) throws -> [Counted] { try removed("owner = ?", [owner.text]) }

    /// Removes at most `limit` texts that have expired.
    func removeExpired(at now: WallTime, limit: Int) throws -> [Counted] {
        try removed("id IN (SELECT id FROM text WHERE expiry <= ? LIMIT ?)", [now.microseconds, limit])
    }

    private func removed(_ condition: String, _ arguments: StatementArguments) throws -> [Counted] {
        let rows = try Row.fetchAll(
            database, sql: "DELETE FROM text WHERE \(condition) RETURNING id, owner, size", arguments: arguments)
        return try rows.compactMap(Self.counted)
    }

    /// Calls the closure with each text, and whether the key with the fingerprint has sealed it.
    func forEach(key: Int64, _ body: (Counted, _ isReadable: Bool) -> Void) throws {
        let rows = try Row.fetchCursor(database, sql: "SELECT id, owner, key, size FROM text INDEXED BY text_owner")
        while let row = try rows.next() {
            guard let counted = try Self.counted(row) else { continue }
            body(counted, try row.required("key", as: Int64.self) == key)
        }
    }

    /// Returns the number of texts that another key has sealed.
    func count(notSealedBy key: Int64) throws -> Int {
        try Int.fetchOne(
            database, sql: "SELECT count(*) FROM text INDEXED BY text_owner WHERE key <> ?", arguments: [key]) ?? 0
    }

    private static func counted(_ row: Row) throws -> Counted? {
        guard let id = SecureID(try row.required("id", as: Int64.self)),
            let owner = UserName(canonical: try row.required("owner", as: String.self))
        else { return nil }
        return Counted(
            place: SecureTextReservation.Place(id: id, owner: owner), bytes: try row.required("size", as: Int.self))
    }
}
