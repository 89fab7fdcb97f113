internal import Dispatch
internal import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient
internal import Synchronization

/// A store's database in PostgreSQL: one connection for changes and a few for reads.
///
/// By default, changes run in serializable transactions, so the rules of ownership hold as in SQLite, which has one writer. Each
/// checks in its transaction that this gateway still has the right to use the store.
final class PostgreSQLDatabase: SQLDatabase {
    /// The error that the connection was lost during a commit, so that the changes may or may not be stored.
    struct OutcomeUnknown: Error {
        let cause: PostgreSQLError
    }

    private struct Readers {
        var idle: [PostgreSQLSession]
        var waiting: [@Sendable (PostgreSQLSession) -> Void] = []
    }

    private let writer: PostgreSQLSession
    private let readers: [PostgreSQLSession]
    private let pool: Mutex<Readers>
    private let node: StoreNode
    private let renewsNode: Bool
    private let channel: String
    private let isolation: String
    private let lane: String
    /// Whether the last transaction of the writer conflicted with one of another gateway.
    private let hasConflicted = Atomic(false)

    /// Creates a database without connections.
    ///
    /// - Parameters:
    ///   - name: The name of the store in the list of the server's connections (`pg_stat_activity`), one of
    ///     ``AcknowledgedCommits/lanes``.
    ///   - renewsNode: Whether changes renew the node. One database of a gateway does.
    ///   - isolation: The isolation of changes. `READ COMMITTED` is enough for changes that each concern one row.
    init(
        _ settings: PostgreSQLStore.Settings, name: String, node: StoreNode, renewsNode: Bool,
        isolation: String = "SERIALIZABLE"
    ) {
        var connection = settings.connection
        connection.applicationName = "notify-gateway \(name)"
        let clocks = node.clocks
        let limit = PostgreSQLSession.Failure()
        writer = PostgreSQLSession(
            connection, label: "\(name)-changes", clocks: clocks, timeLimit: limit, prepare: Self.prepareWriter)
        readers = (0..<settings.readers).map {
            PostgreSQLSession(connection, label: "\(name)-reads-\($0)", clocks: clocks, timeLimit: limit) { _ in }
        }
        pool = Mutex(Readers(idle: readers))
        self.node = node
        self.renewsNode = renewsNode
        channel = ChangeFeed.channel(of: connection)
        self.isolation = isolation
        lane = name
    }

    /// Makes commits durable, as the ledger promises, and keeps the planner from reading whole tables: a serializable
    /// transaction that has read a table conflicts with every change of it.
    private static func prepareWriter(_ connection: PostgreSQLConnection) throws {
        try connection.readTimeline()
        try connection.simple(
            """
            SELECT set_config('synchronous_commit', 'on', false)
                WHERE current_setting('synchronous_commit') IN ('off', 'local');
            SET enable_seqscan = off
            """)
    }

    // MARK: Changes

    func enqueue(_ work: @escaping @Sendable () -> Void) { writer.queue.async(execute: work) }

    func inTransaction(announcing: Bool, _ body: (any SQLTransaction) throws -> Void) throws {
        let runsAlone = hasConflicted.exchange(false, ordering: .relaxed)
        do {
            try transaction(isolation) { transaction in
                // Before the first query, so that the transaction sees what was committed while it waited.
                if announcing { try transaction.script("LOCK TABLE change IN EXCLUSIVE MODE") }
                if runsAlone { try transaction.waitForOthers() }
                let acknowledged = try node.begin(
                    transaction, lane: lane, timeline: transaction.connection.timeline)
                let renewed = renewsNode ? try node.renew(transaction) : nil
                try body(transaction)
                if announcing { try transaction.notify(channel) }
                return {
                    acknowledged()
                    renewed?()
                }
            }
        } catch {
            // A gateway that was frozen in a transaction keeps the lock from the others, so the next attempt goes without.
            if isConflict(error), !runsAlone { hasConflicted.store(true, ordering: .relaxed) }
            throw error
        }
    }

    /// Runs the body in a transaction of the writer, without a check of the node. Called on the writer's queue.
    ///
    /// - Parameter body: Returns what to do once the transaction is committed.
    private func transaction(
        _ isolation: String, _ body: (PostgreSQLTransaction) throws -> (() -> Void)?
    ) throws {
        try writer.withConnection("BEGIN ISOLATION LEVEL \(isolation)") { connection in
            let committed: (() -> Void)?
            do {
                committed = try body(PostgreSQLTransaction(connection: connection, node: node.instance))
            } catch {
                if connection.isUsable { try? connection.simple("ROLLBACK") }
                throw error
            }
            do {
                try connection.commit()
            } catch let error as PostgreSQLError where !connection.isUsable {
                throw OutcomeUnknown(cause: error)
            }
            committed?()
        }
    }

    func write<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        try writer.queue.sync {
            var value: Value?
            try retryingConflicts { try inTransaction(announcing: true) { value = try body($0) } }
            guard let value else { throw LedgerUnavailable("the transaction has no result") }
            return value
        }
    }

    /// Runs the body in a transaction that does not check the node. Blocks; called at startup.
    ///
    /// - Parameter isolation: `READ COMMITTED` for a body that waits for a lock and then reads what its holder has
    ///   committed.
    func writeUnchecked<Value>(
        _ isolation: String, _ body: (PostgreSQLTransaction) throws -> Value
    ) throws -> Value {
        try writer.queue.sync {
            var value: Value?
            try retryingConflicts {
                try transaction(isolation) {
                    value = try body($0)
                    return nil
                }
            }
            guard let value else { throw LedgerUnavailable("the transaction has no result") }
            return value
        }
    }

    private func retryingConflicts(_ body: () throws -> Void) throws {
        for _ in 1..<Self.maximumAttempts {
            do { return try body() } catch  where isConflict(error) {}
        }
        try body()
    }

    private static let maximumAttempts = 20

    // MARK: Reads

    func enqueueRead(_ body: @escaping @Sendable (Result<any SQLTransaction, any Error>) -> Void) {
        take { [self] session in
            session.queue.async { [self] in
                do {
                    try read(on: session) { body(.success($0)) }
                } catch {
                    // Once it has begun, the body has passed its errors on to its callers.
                    body(.failure(error))
                }
                give(session)
            }
        }
    }

    /// The time limit of a statement at the start of a gateway and in an export, which read whole tables.
    private static let longReadLimit = Duration.seconds(600)

    func read<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        // Not the writer, whose planner avoids to read whole tables.
        let session = readers[0]
        return try session.queue.sync {
            try read(on: session) { transaction in
                let connection = transaction.connection
                let usualLimit = connection.statementDeadline
                connection.statementDeadline = Self.longReadLimit
                defer { connection.statementDeadline = usualLimit }
                try connection.simple("SET LOCAL statement_timeout = \(Self.longReadLimit.components.seconds * 1000)")
                return try body(transaction)
            }
        }
    }

    /// Runs the body with one state of the database. Called on the session's queue.
    private func read<Value>(
        on session: PostgreSQLSession, _ body: (PostgreSQLTransaction) throws -> Value
    ) throws -> Value {
        try session.withConnection("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") { connection in
            defer { if connection.isUsable { try? connection.simple("COMMIT") } }
            return try body(PostgreSQLTransaction(connection: connection, node: node.instance))
        }
    }

    /// Calls the body with an idle session, at once or as soon as there is one.
    private func take(_ body: @escaping @Sendable (PostgreSQLSession) -> Void) {
        let session = pool.withLock { pool in
            guard let session = pool.idle.popLast() else {
                pool.waiting.append(body)
                return nil as PostgreSQLSession?
            }
            return session
        }
        if let session { body(session) }
    }

    private func give(_ session: PostgreSQLSession) {
        let next = pool.withLock { pool -> (@Sendable (PostgreSQLSession) -> Void)? in
            guard !pool.waiting.isEmpty else {
                pool.idle.append(session)
                return nil
            }
            return pool.waiting.removeFirst()
        }
        next?(session)
    }

    func close() {
        for session in [writer] + readers { session.queue.sync { session.close() } }
    }
}
