internal import Dispatch
package import GatewayCore
package import GatewaySupport
internal import PostgreSQLClient
internal import Synchronization

/// The calls that all nodes with a store in PostgreSQL have recorded, for a running gateway.
///
/// Safe to use from any thread; callers resume on their own executors. The queries of operators have a connection of their
/// own, so that users do not wait for them, and so have statistics, which may take seconds. If the store cannot be read, queries
/// fail.
package final class SharedHistory: CallHistory {
    private let sessions: SessionRegister
    private let clocks: Clocks
    private let name: String
    private let users: QueryQueue
    private let operators: QueryQueue
    let statistics: QueryQueue

    /// A connection, and the number of queries that run on it or wait for it.
    struct QueryQueue: ~Copyable {
        let session: PostgreSQLSession
        let waiting = Atomic(0)
    }

    /// The maximum number of waiting queries of each kind. Further queries fail.
    static let maximumQueueLength = 64
    /// How long a statement may run. Those of lists examine a few thousand lines, so only an overloaded server needs this time.
    private static let statementTimeout = Duration.seconds(5)
    /// The time after which a query begins no further statement.
    private static let queryTimeout = Duration.seconds(2)
    /// The maximum number of matching lines that are examined for one page.
    private static let maximumPageLines = 50_000

    /// Creates a history without connections. They are opened with the first query.
    package init(_ settings: PostgreSQLStore.Settings, sessions: SessionRegister, clocks: Clocks) {
        var connection = settings.connection
        connection.applicationName = "notify-gateway history"
        connection.statementTimeout = min(connection.statementTimeout, Self.statementTimeout)
        self.sessions = sessions
        self.clocks = clocks
        name = settings.name
        func queue(_ label: String) -> QueryQueue {
            QueryQueue(
                session: PostgreSQLSession(
                    connection, label: label, clocks: clocks, timeLimit: PostgreSQLSession.Failure(),
                    prepare: LineQueries.prepare))
        }
        users = queue("history-users")
        operators = queue("history-operators")
        statistics = queue("history-statistics")
    }

    /// Returns the newest notifications that the user received since the time, newest first.
    package func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification] {
        let earliest = try await sessions.historyStart(of: user, since: since)
        return try await run(on: users) { try $0.received(by: user, since: earliest, limit: limit) }
    }

    /// Returns a page of the list of all nodes' calls. The position of a page is the place before which it begins; for calls
    /// also the ends of all journals when the first page was read.
    package func page(
        _ query: AuditQuery, after position: String?, limit: Int, isOfCalls: Bool
    ) async throws(HistoryUnavailable) -> HistoryPage? {
        var (bound, known) = (nil as LineKey?, nil as JournalEnds?)
        if let position {
            let parts = position.split(separator: "~", maxSplits: 1, omittingEmptySubsequences: false)
            guard let place = LineKey(text: parts[0]), let ends = JournalEnds(text: parts.dropFirst().first ?? "")
            else { return nil }
            (bound, known) = (place, ends)
        }
        return try await run(on: operators) { [bound, known] lines in
            let names = try lines.names()
            let ends = try known ?? (isOfCalls ? lines.ends() : JournalEnds())
            let page = try lines.listing(query, before: bound, known: ends)
                .page(limit: limit, isOfCalls: isOfCalls, mostExamined: Self.maximumPageLines)
            let end = ends.ends.isEmpty ? "" : "~\(ends.text)"
            return HistoryPage(rows: page.rows.map { $0.map(names.line) }, next: page.next.map { $0.text + end })
        }
    }

    /// Waits for the running queries and closes the connections. Blocks.
    package func close() {
        for session in [users.session, operators.session, statistics.session] { session.queue.sync { session.close() } }
    }

    /// Runs a query with one state of the database.
    func run<Output: Sendable>(
        on queue: borrowing QueryQueue, _ query: @escaping @Sendable (LineQueries) throws -> Output
    ) async throws(HistoryUnavailable) -> Output {
        guard queue.waiting.add(1, ordering: .relaxed).newValue <= Self.maximumQueueLength else {
            queue.waiting.subtract(1, ordering: .relaxed)
            throw HistoryUnavailable("too many queries are waiting")
        }
        defer { queue.waiting.subtract(1, ordering: .relaxed) }
        do throws(LedgerUnavailable) {
            return try await queue.session.perform("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") {
                [clocks] connection in
                defer { if connection.isUsable { try? connection.simple("COMMIT") } }
                let began = clocks.monotonic()
                return try query(
                    LineQueries(connection: connection) {
                        .nanoseconds(clocks.monotonic().nanoseconds - began.nanoseconds) < Self.queryTimeout
                    })
            }
        } catch {
            throw HistoryUnavailable("\(name): \(error.detail)")
        }
    }
}
