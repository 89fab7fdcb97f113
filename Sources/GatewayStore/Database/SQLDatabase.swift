internal import GatewayCore

/// The writer of a database: transactions on one thread, one after the other. `GroupCommit` uses it.
protocol SQLWriter: Sendable {
    /// Runs the work on the writer's thread after all work that was added before. Does not wait.
    func enqueue(_ work: @escaping @Sendable () -> Void)
    /// Runs the body in a transaction and commits it, or rolls it back if the body throws. Called on the writer's thread.
    ///
    /// - Parameter announcing: Whether the body stores changes for the memory of other nodes. Their transactions run one
    ///   after the other, so that the nodes read the changes in the order of the commits.
    func inTransaction(announcing: Bool, _ body: (any SQLTransaction) throws -> Void) throws
    /// Returns whether the same changes may succeed if they are tried again at once: they conflicted with those of
    /// another node. Always false for SQLite.
    func isConflict(_ error: any Error) -> Bool
    /// Returns whether it is unknown if the transaction was committed, so that its changes must not be tried again.
    /// Always false for SQLite.
    func isOutcomeUnknown(_ error: any Error) -> Bool
}

extension SQLWriter {
    /// False: the writer is the only one.
    func isConflict(_ error: any Error) -> Bool { false }
    /// False: a commit fails or succeeds.
    func isOutcomeUnknown(_ error: any Error) -> Bool { false }
}

/// The readers of a database. `BatchedRead` uses them.
protocol SQLReader: Sendable {
    /// Runs the body with one state of the database, on a thread of the database. Does not wait.
    func enqueueRead(_ body: @escaping @Sendable (Result<any SQLTransaction, any Error>) -> Void)
}

/// The database of a store.
protocol SQLDatabase: SQLWriter, SQLReader {
    /// Runs the body with one state of the database. Blocks; called at startup.
    func read<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value
    /// Runs the body in a transaction. Blocks; called at startup and on threads of the caller.
    func write<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value
    /// Returns the damage that an error of a statement reports; nil for any other error.
    func damage(in error: any Error) -> String?
    /// Whether the error concerns the database as a whole, not only one change (a constraint).
    func isFailure(_ error: any Error) -> Bool
    /// A text about the error for operators.
    func message(for error: any Error) -> String
    /// Waits for running operations and closes the database. Blocks.
    func close() throws
}

extension SQLDatabase {
    /// Converts an error of the database to one with a message for operators. Keeps one that has such a message.
    func unavailable(_ error: any Error) -> LedgerUnavailable {
        error as? LedgerUnavailable ?? LedgerUnavailable(message(for: error))
    }
}

/// The statements on the tables of a database, valid only during the database access that created them.
protocol DatabaseTables: SendableMetatype {
    init(_ transaction: any SQLTransaction)
}

/// The blocking accesses of a store at startup, and of a caller on its own thread.
extension SQLDatabase {
    /// Runs the body with the tables in one state of the database. Blocks.
    func readTables<Tables: DatabaseTables, Value>(
        _ body: (Tables) throws -> Value
    ) throws(LedgerUnavailable) -> Value {
        do { return try read { try body(Tables($0)) } } catch { throw unavailable(error) }
    }

    /// Runs the body with the tables in a transaction. Blocks.
    func writeTables<Tables: DatabaseTables, Value>(
        _ body: (Tables) throws -> Value
    ) throws(LedgerUnavailable) -> Value {
        do { return try write { try body(Tables($0)) } } catch { throw unavailable(error) }
    }
}
