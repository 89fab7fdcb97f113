internal import GatewayCore
internal import GatewaySupport

/// The tables of a store in PostgreSQL and their version, in the table `store_version`.
///
/// Migrations only add tables and columns and change no meaning, so that the version before can still use the store. They take
/// no time that depends on the number of rows, because calls wait for them. Names of users, devices
/// and registrations are compared byte by byte (`COLLATE "C"`), as SQLite does.
enum PostgreSQLSchema {
    /// The version that this code reads and writes.
    static let version = Int64(migrations.count)

    /// The statements of each version, the first one first.
    ///
    /// A version that programs of the version before cannot use must raise `store_version.usable_from`.
    private static let migrations = [
        [ledgerTables, textTables, nodeTables].joined(),
        [
            "ALTER TABLE store_version ADD COLUMN usable_from bigint NOT NULL DEFAULT 1;",
            "TRUNCATE debt; ALTER TABLE debt SET LOGGED;", "CREATE UNIQUE INDEX node_place ON node (instance, fence);",
            journalTables, countTables,
        ].joined(),
        [
            #"ALTER TABLE node ADD COLUMN timeline text COLLATE "C", ADD COLUMN compared bigint;"#,
            commitTable,
        ].joined(),
    ]

    /// Returns the version of the store; nil if the schema has none. Throws for a newer version that this program cannot
    /// use.
    static func version(of transaction: any SQLTransaction) throws -> Int64? {
        let exists = try transaction.integer(
            sql: """
                SELECT count(*) FROM information_schema.tables
                WHERE table_schema = current_schema() AND table_name = 'store_version'
                """)
        guard exists == 1 else { return nil }
        let found = try transaction.integer(sql: "SELECT version FROM store_version")
        // The first version does not have the column.
        let usableFrom = try transaction.integer(
            sql: "SELECT (to_jsonb(store_version) ->> 'usable_from')::bigint FROM store_version")
        guard found ?? 0 <= version || usableFrom ?? .max <= version else {
            throw LedgerUnavailable(
                "the store has schema version \(found ?? 0); this program reads versions up to \(version)")
        }
        return found
    }

    /// Creates the tables in an empty schema, or adds those of newer versions. Throws, and changes nothing, for a store
    /// of a newer version or of another key.
    ///
    /// Runs in one transaction with the isolation `READ COMMITTED`, and holds a lock so that two gateways that start at
    /// once do not both create tables.
    static func prepare(_ transaction: PostgreSQLTransaction, fingerprint: KeyedDigest) throws {
        // Released at the end of the transaction. The number only has to be the same for all gateways.
        try transaction.script("SELECT pg_advisory_xact_lock(7094305128776391)")
        let found = try version(of: transaction) ?? 0
        for statements in migrations.dropFirst(Int(max(0, min(found, version)))) { try transaction.script(statements) }
        try transaction.execute(
            sql: """
                INSERT INTO store_version (id, version) VALUES (1, ?)
                ON CONFLICT (id) DO UPDATE SET version = GREATEST(store_version.version, excluded.version)
                """,
            arguments: [version])
        try transaction.execute(
            sql: "INSERT INTO property (name, value) VALUES ('key-fingerprint', ?) ON CONFLICT (name) DO NOTHING",
            arguments: [fingerprint.bytes])
        let known = try transaction.firstRow(sql: "SELECT value FROM property WHERE name = 'key-fingerprint'")
        guard try known?.required("value", as: [UInt8].self) == fingerprint.bytes else {
            throw LedgerUnavailable("the key of device handles is not the key of this store")
        }
    }
}
