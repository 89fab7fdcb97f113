import GatewayTesting
import PostgreSQLClient
import Testing

@Suite("Commits with a synchronous standby", .enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(1)))
struct CommitTests {
    private let server: PostgreSQLServer

    init() throws {
        var options = PostgreSQLServer.Options()
        // Its commits wait for a standby that does not exist.
        options.settings = ["wal_level = replica", "max_wal_senders = 1", "synchronous_standby_names = 'missing'"]
        server = try PostgreSQLServer(options)
        try server.run(
            "SET synchronous_commit = local; CREATE TABLE t (i int8); ALTER TABLE t OWNER TO \(PostgreSQLServer.user)")
    }

    private func connect() throws -> PostgreSQLConnection {
        try PostgreSQLConnection.connect(server.settings, within: .seconds(30))
    }

    /// Returns what another session sees.
    private func count() throws -> Int {
        let connection = try connect()
        defer { connection.close() }
        return try connection.execute("SELECT i FROM t")
    }

    @Test("Without the standby, a commit fails at its deadline, and other sessions do not see the changes")
    func deadline() throws {
        let connection = try connect()
        connection.statementDeadline = .milliseconds(300)
        try connection.simple("SET statement_timeout = 100; BEGIN; INSERT INTO t VALUES (1)")
        let error = #expect(throws: PostgreSQLError.self) { try connection.commit() }
        #expect(error?.kind == .unavailable)
        #expect(!connection.isUsable)
        #expect(try count() == 0)
    }

    @Test("A commit that the server gives up waiting for is a failure")
    func cancelled() throws {
        let connection = try connect()
        // Nothing but the cancellation ends the wait, however slow the machine is.
        connection.statementDeadline = .seconds(60)
        try connection.simple("SET statement_timeout = 0; BEGIN; INSERT INTO t VALUES (1)")
        let pid = try #require(try connection.text("SELECT pg_backend_pid()::text"))
        let other = try connect()
        let canceller = Task.detached { [other = Unchecked(other)] in
            // Until the commit waits.
            while try other.value.text(
                "SELECT count(*)::text FROM pg_stat_activity WHERE pid = \(pid) AND wait_event = 'SyncRep'") != "1"
            {}
            _ = try other.value.text("SELECT pg_cancel_backend(\(pid))::text")
        }
        let error = #expect(throws: PostgreSQLError.self) { try connection.commit() }
        #expect(error?.message.contains("standby") == true)
        #expect(!connection.isUsable)
        canceller.cancel()
    }
}

private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}

extension PostgreSQLConnection {
    /// Returns the text in the first column of the first row.
    fileprivate func text(_ sql: String) throws -> String? {
        var text: String?
        try forEachRow(sql) { _, values in
            if case .text(let value)? = values.first { text = value }
        }
        return text
    }
}
