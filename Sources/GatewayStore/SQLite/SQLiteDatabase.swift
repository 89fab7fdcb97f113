internal import GRDB
internal import GatewayCore

/// A database in an SQLite file, with one writer and several readers.
///
/// Safe to use from any thread: GRDB's queues access the file.
final class SQLiteDatabase: SQLDatabase {
    let pool: DatabasePool

    /// Opens the file. Blocks.
    ///
    /// - Parameters:
    ///   - label: The name of the database's threads.
    ///   - readers: The maximum number of concurrent reads.
    init(file: String, label: String, readers: Int) throws {
        var configuration = Configuration()
        configuration.label = label
        configuration.foreignKeysEnabled = true
        configuration.maximumReaderCount = readers
        // Other processes may read the file with SQLite's own tools.
        configuration.busyMode = .timeout(5)
        pool = try DatabasePool(path: file, configuration: configuration)
    }

    func enqueue(_ work: @escaping @Sendable () -> Void) {
        pool.asyncWriteWithoutTransaction { _ in work() }
    }

    func inTransaction(announcing: Bool, _ body: (any SQLTransaction) throws -> Void) throws {
        try pool.unsafeReentrantWrite { database in
            try database.inTransaction {
                try body(SQLiteTransaction(database))
                return .commit
            }
        }
    }

    func enqueueRead(_ body: @escaping @Sendable (Result<any SQLTransaction, any Error>) -> Void) {
        pool.asyncRead { access in body(access.map { SQLiteTransaction($0) }) }
    }

    func read<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        try pool.read { try body(SQLiteTransaction($0)) }
    }

    func write<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        try pool.write { try body(SQLiteTransaction($0)) }
    }

    func damage(in error: any Error) -> String? { SQLiteMessage.damage(in: error) }

    func isFailure(_ error: any Error) -> Bool {
        (error as? DatabaseError).map { $0.resultCode != .SQLITE_CONSTRAINT } ?? false
    }

    func message(for error: any Error) -> String { SQLiteMessage.text(for: error) }

    func close() throws { try pool.close() }
}

/// Functions that only a file has.
extension SQLiteDatabase {
    /// Makes every commit durable before it is acknowledged. Called before the first write.
    func makeDurable() throws {
        try pool.writeWithoutTransaction { database in
            // Opening a pool sets this to NORMAL after applying the configuration.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            guard try Self.synchronous(database) == 2,
                try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
            else { throw LedgerUnavailable("SQLite rejected synchronous=FULL with a write-ahead log") }
        }
    }

    /// Returns SQLite's durability level of a commit; 2 is FULL.
    static func synchronous(_ database: Database) throws -> Int? {
        try Int.fetchOne(database, sql: "PRAGMA synchronous")
    }

    /// Copies the database to a file with SQLite's online backup.
    func copy(to path: String) throws {
        let copy = try DatabaseQueue(path: path)
        try pool.backup(to: copy)
        try copy.close()
    }

    /// Empties the write-ahead log into the database file.
    ///
    /// GRDB closes the readers after the writer, and SQLite does not empty the log if a reader closes last. A remaining
    /// log would be applied to a copy that replaces the file, and a copy of the file alone would lack the log's
    /// changes.
    func emptyLog() throws {
        try pool.barrierWriteWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }
}
