internal import Dispatch
package import GatewayCore
package import GatewaySupport
internal import PostgreSQLClient

/// The lines of all nodes' journals while they are recorded, for streams of a running gateway.
///
/// Safe to use from any thread. It has a connection of its own, which the first read opens, and reads one after the other.
package final class SharedJournalFeed: Sendable {
    private let session: PostgreSQLSession
    private let name: String

    /// How long a statement may run.
    private static let statementTimeout = Duration.seconds(5)

    /// Creates a feed without a connection.
    package init(_ settings: PostgreSQLStore.Settings, clocks: Clocks) {
        var connection = settings.connection
        connection.applicationName = "notify-gateway live"
        connection.statementTimeout = min(connection.statementTimeout, Self.statementTimeout)
        name = settings.name
        session = PostgreSQLSession(
            connection, label: "journal-feed", clocks: clocks, timeLimit: PostgreSQLSession.Failure(),
            prepare: LineQueries.prepare)
    }

    /// Returns the place after all present lines.
    package func end() async throws(HistoryUnavailable) -> SharedTail {
        try await run { try SharedTail(after: $0) }
    }

    /// Returns the lines that were added after the place, at most a thousand of each node, and the place after them.
    ///
    /// - Parameter skipsOld: Whether only the newest lines are returned if there are more.
    package func read(
        from tail: SharedTail, skipsOld: Bool = false
    ) async throws(HistoryUnavailable) -> (lines: [SharedTail.Line], tail: SharedTail) {
        try await run { lines in
            var tail = tail
            return (try tail.next(in: lines, skipsOld: skipsOld), tail)
        }
    }

    /// Waits for the running read and closes the connection. Blocks.
    package func close() { session.queue.sync { session.close() } }

    private func run<Output: Sendable>(
        _ body: @escaping @Sendable (LineQueries) throws -> Output
    ) async throws(HistoryUnavailable) -> Output {
        do throws(LedgerUnavailable) {
            return try await session.perform("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") { connection in
                defer { if connection.isUsable { try? connection.simple("COMMIT") } }
                return try body(LineQueries(connection: connection))
            }
        } catch {
            throw HistoryUnavailable("\(name): \(error.detail)")
        }
    }
}
