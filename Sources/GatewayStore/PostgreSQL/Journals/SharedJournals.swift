package import GatewayCore
package import GatewaySupport
internal import PostgreSQLClient

/// Answers queries of commands from the journals of all nodes that share a store in PostgreSQL. Lines are in the order of
/// their times.
///
/// Confined to one thread. Functions block, and throw ``LedgerUnavailable`` if the store cannot be read.
package final class SharedJournals: AuditSource {
    private let lines: LineQueries
    private let name: String

    /// How long a statement may run. Each examines a few thousand lines.
    private static let statementTimeout = Duration.seconds(30)

    /// Connects to the store.
    package init(_ settings: PostgreSQLStore.Settings) throws(LedgerUnavailable) {
        var connection = settings.connection
        connection.applicationName = "notify-gateway audit"
        connection.statementTimeout = Self.statementTimeout
        name = settings.name
        do {
            let opened = try PostgreSQLConnection.connect(connection, within: connection.connectTimeout * 2)
            lines = LineQueries(connection: opened)
            try LineQueries.prepare(opened)
        } catch {
            throw LedgerUnavailable("\(settings.name): \(PostgreSQLDatabase.text(for: error))")
        }
    }

    package var hasNodes: Bool { true }

    package func forEachLine(
        _ query: AuditQuery, limit: Int, _ body: (AuditLine) throws -> Void
    ) throws -> Bool {
        try run {
            let names = try $0.names()
            return try $0.listing(query).lines(limit: limit) { try body(names.line(($0, $1))) }
        }
    }

    package func forEachCall(
        _ query: AuditQuery, limit: Int, _ body: ([AuditLine]) throws -> Void
    ) throws -> Bool {
        try run {
            let names = try $0.names()
            return try $0.listing(query).calls(limit: limit) { try body($1.map(names.line)) }
        }
    }

    package func senders(to user: UserName, since: WallTime) throws -> [SenderSummary] {
        try run { try $0.senders(to: user, since: since) }
    }

    /// Returns the place after all present lines.
    package func end() throws -> SharedTail { try run { try SharedTail(after: $0) } }

    /// Returns at most `count` of the last lines before the place, in the order of their times.
    package func last(_ count: Int, before tail: SharedTail) throws -> [AuditLine] {
        try run { try tail.last(count, in: $0) }
    }

    /// Returns the lines that were added after the place, at most a thousand of each node, and moves the place behind them.
    package func next(after tail: inout SharedTail) throws -> [AuditLine] {
        try run { try tail.next(in: $0).map(\.line) }
    }

    /// Closes the connection.
    package func close() { lines.connection.close() }

    private func run<Output>(_ query: (LineQueries) throws -> Output) throws -> Output {
        do { return try query(lines) } catch let error as PostgreSQLError {
            throw LedgerUnavailable("\(name): \(error.message)")
        }
    }
}
