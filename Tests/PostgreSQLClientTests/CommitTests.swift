import GatewayTesting
import PostgreSQLClient
import Testing

@Suite("Commits with a synchronous standby", .enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(1)))
struct CommitTests {
    private let server: PostgreSQLServer

    init() throws {
        server = try PostgreSQLServer()
        try server.run("CREATE TABLE t (i int8)")
        // It waits for a standby that does not exist.
        try server.run("ALTER SYSTEM SET synchronous_standby_names = 'missing'")
        try server.run("SELECT pg_reload_conf()")
    }

    private func connect() throws -> PostgreSQLConnection {
        let connection = try PostgreSQLConnection.connect(server.settings, within: .seconds(30))
        // The server of the tests does not wait for its disk.
        try connection.simple("SET synchronous_commit = on")
        while try connection.text("SHOW synchronous_standby_names") != "missing" {}
        return connection
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
        try connection.simple("BEGIN; INSERT INTO t VALUES (1)")
        let pid = try connection.text("SELECT pg_backend_pid()::text")
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
