internal import Dispatch
internal import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient
internal import Synchronization

/// One connection to a store's database, and the queue that uses it. The connection is opened when it is needed, and
/// opened again after a failure.
///
/// After a failed attempt to connect, further work fails at once for a moment, and after a time limit that of all sessions
/// of the database: otherwise each waiting call would wait for an attempt of its own while the server is away.
final class PostgreSQLSession: Sendable {
    /// The last failure of a server. Safe to use from any thread.
    final class Failure: Sendable {
        /// How long work fails at once, in nanoseconds.
        private static let pause: Int64 = 250_000_000
        private let last = Mutex<(error: PostgreSQLError, at: MonotonicInstant)?>(nil)

        /// Stores a failure.
        func record(_ error: PostgreSQLError, at now: MonotonicInstant) { last.withLock { $0 = (error, now) } }

        /// Throws the failure if it was a moment ago.
        func check(at now: MonotonicInstant) throws {
            try last.withLock { last in
                if let last, now.nanoseconds - last.at.nanoseconds < Self.pause { throw last.error }
            }
        }
    }

    private struct State {
        var connection: PostgreSQLConnection?
        var isClosed = false
    }

    let queue: DispatchQueue
    private let settings: PostgreSQLSettings
    private let clocks: Clocks
    /// The last time limit that passed in any session of the database.
    private let timeLimit: Failure
    /// The last attempt to connect that failed.
    private let rejection = Failure()
    private let prepare: @Sendable (PostgreSQLConnection) throws -> Void
    // A connection is not Sendable. Every access asserts that it runs on the queue.
    nonisolated(unsafe) private var state = State()

    /// Creates a session without a connection.
    ///
    /// - Parameter prepare: Runs on each new connection.
    init(
        _ settings: PostgreSQLSettings, label: String, clocks: Clocks, timeLimit: Failure,
        prepare: @escaping @Sendable (PostgreSQLConnection) throws -> Void
    ) {
        queue = DispatchQueue(label: label)
        self.settings = settings
        self.clocks = clocks
        self.timeLimit = timeLimit
        self.prepare = prepare
    }

    /// Runs the body with the connection after the statement that begins its transaction. Called on the queue. Blocks for
    /// at most the time limits of the settings.
    ///
    /// - Parameter begin: Runs again on a new connection if the present one was closed while it was idle, as by a restart
    ///   of the server. Nil for a body that needs no transaction block and is repeated by its caller in that case.
    func withConnection<Value>(_ begin: String?, _ body: (PostgreSQLConnection) throws -> Value) throws -> Value {
        dispatchPrecondition(condition: .onQueue(queue))
        try timeLimit.check(at: clocks.monotonic())
        if let begin, let connection = state.connection {
            let began = clocks.monotonic()
            do { try run(connection, since: began) { try $0.simple(begin) } } catch let error as PostgreSQLError {
                if connection.isUsable || elapsed(since: began) >= settings.statementTimeout { throw error }
            }
        }
        let isNew = state.connection == nil
        let connection = try open()
        return try run(connection, since: clocks.monotonic()) {
            if isNew, let begin { try $0.simple(begin) }
            return try body($0)
        }
    }

    /// Runs the body as ``withConnection(_:_:)``, on the queue.
    func perform<Value: Sendable>(
        _ begin: String?, _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
    ) async throws(LedgerUnavailable) -> Value {
        let result: Result<Value, LedgerUnavailable> = await withCheckedContinuation { continuation in
            queue.async { [self] in
                let result = Result { try withConnection(begin, body) }
                continuation.resume(
                    returning: result.mapError { LedgerUnavailable(PostgreSQLDatabase.text(for: $0)) })
            }
        }
        return try result.get()
    }

    /// Runs the body, and forgets the connection if it is lost.
    private func run<Value>(
        _ connection: PostgreSQLConnection, since began: MonotonicInstant,
        _ body: (PostgreSQLConnection) throws -> Value
    ) throws -> Value {
        defer {
            if !connection.isUsable { state.connection = nil }
        }
        do { return try body(connection) } catch {
            let cause = error as? PostgreSQLError ?? (error as? PostgreSQLDatabase.OutcomeUnknown)?.cause
            if let cause, !connection.isUsable, elapsed(since: began) >= settings.statementTimeout {
                timeLimit.record(cause, at: clocks.monotonic())
            }
            throw error
        }
    }

    private func elapsed(since began: MonotonicInstant) -> Duration {
        .nanoseconds(clocks.monotonic().nanoseconds - began.nanoseconds)
    }

    /// Closes the connection; later work fails. Called on the queue.
    func close() {
        dispatchPrecondition(condition: .onQueue(queue))
        state.connection?.close()
        state.connection = nil
        state.isClosed = true
    }

    private func open() throws -> PostgreSQLConnection {
        if let connection = state.connection { return connection }
        if state.isClosed { throw LedgerUnavailable("the store is closed") }
        let began = clocks.monotonic()
        try rejection.check(at: began)
        do {
            let connection = try PostgreSQLConnection.connect(settings, within: settings.connectTimeout * 2)
            do { try prepare(connection) } catch {
                connection.close()
                throw error
            }
            state.connection = connection
            return connection
        } catch let error as PostgreSQLError {
            let failure = elapsed(since: began) >= settings.connectTimeout ? timeLimit : rejection
            failure.record(error, at: clocks.monotonic())
            throw error
        }
    }
}
