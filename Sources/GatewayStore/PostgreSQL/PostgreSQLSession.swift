internal import Dispatch
internal import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient

/// One connection to a store's database, and the queue that uses it. The connection is opened when it is needed, and
/// opened again after a failure.
///
/// After a failed attempt to connect, further work fails at once for a moment: otherwise each waiting call would wait for
/// an attempt of its own while the server is away.
final class PostgreSQLSession: Sendable {
    private struct State {
        var connection: PostgreSQLConnection?
        var failure: PostgreSQLError?
        var failed = MonotonicInstant(nanoseconds: 0)
        var isClosed = false
    }

    /// The pause between two attempts to connect, in nanoseconds.
    private static let pause: Int64 = 250_000_000

    let queue: DispatchQueue
    private let settings: PostgreSQLSettings
    private let clocks: Clocks
    private let prepare: @Sendable (PostgreSQLConnection) throws -> Void
    // A connection is not Sendable. Every access asserts that it runs on the queue.
    nonisolated(unsafe) private var state = State()

    /// Creates a session without a connection.
    ///
    /// - Parameter prepare: Runs on each new connection.
    init(
        _ settings: PostgreSQLSettings, label: String, clocks: Clocks,
        prepare: @escaping @Sendable (PostgreSQLConnection) throws -> Void
    ) {
        queue = DispatchQueue(label: label)
        self.settings = settings
        self.clocks = clocks
        self.prepare = prepare
    }

    /// Runs the body with the connection. Called on the queue. Blocks for at most the time limits of the settings.
    func withConnection<Value>(_ body: (PostgreSQLConnection) throws -> Value) throws -> Value {
        dispatchPrecondition(condition: .onQueue(queue))
        let connection = try open()
        defer {
            if !connection.isUsable { state.connection = nil }
        }
        return try body(connection)
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
        if let failure = state.failure, clocks.monotonic().nanoseconds - state.failed.nanoseconds < Self.pause {
            throw failure
        }
        do {
            let connection = try PostgreSQLConnection.connect(settings, within: settings.connectTimeout * 2)
            do { try prepare(connection) } catch {
                connection.close()
                throw error
            }
            state.connection = connection
            state.failure = nil
            return connection
        } catch let error as PostgreSQLError {
            state.failure = error
            state.failed = clocks.monotonic()
            throw error
        }
    }
}
