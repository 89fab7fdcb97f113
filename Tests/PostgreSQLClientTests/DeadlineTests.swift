import GatewayTesting
import PostgreSQLClient
import Testing

@Suite(.enabled(if: hasServer)) struct DeadlineTests {
    @Test func `A statement beyond the deadline is cancelled, and the connection is closed`() throws {
        let (connection, observer) = (try connect { $0.statementTimeout = .seconds(60) }, try connect())
        let pid = try connection.rows("SELECT pg_backend_pid()")[0]
        connection.statementDeadline = .milliseconds(100)
        var error: PostgreSQLError?
        let time = try ContinuousClock().measure {
            error = try failure { try connection.execute("SELECT pg_sleep(50)") }
        }
        #expect(error?.kind == .unavailable && error?.message.contains("in time") == true)
        #expect(time > .milliseconds(90) && time < .seconds(5))
        #expect(!connection.isUsable)
        // The server's own timeout would need a minute.
        observer.statementDeadline = .seconds(20)
        try observer.simple(
            """
            SET statement_timeout = 0;
            DO $$ BEGIN
                WHILE EXISTS (SELECT FROM pg_stat_activity WHERE pid = \(pid.number)) LOOP
                    PERFORM pg_stat_clear_snapshot(), pg_sleep(0.01);
                END LOOP;
            END $$
            """)
    }

    @Test func `The server enforces the timeout of the settings`() throws {
        let connection = try connect { $0.statementTimeout = .milliseconds(50) }
        connection.statementDeadline = .seconds(20)
        let error = try failure { try connection.execute("SELECT pg_sleep(50)") }
        #expect(error?.sqlState == "57014" && error?.kind == .unavailable)
    }

    @Test func `Dropped rows end at the deadline`() throws {
        let connection = try connect { $0.statementTimeout = .seconds(60) }
        connection.statementDeadline = .milliseconds(100)
        let error = try failure { try connection.execute("SELECT generate_series(1, 1000000000)") }
        #expect(error?.kind == .unavailable)
    }

    @Test func `A frozen server fails statements and connections at their deadlines, and serves again when thawed`()
        throws
    {
        let server = try PostgreSQLServer()
        let settings = try server.freshDatabase()
        let connection = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        try connection.simple("CREATE TABLE t (s text)")
        let listener = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        try listener.listen("c")
        let copier = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        server.freeze()
        for each in [connection, copier] { each.statementDeadline = .milliseconds(100) }
        #expect(try failure { try connection.execute("SELECT 1") }?.kind == .unavailable)
        #expect(!connection.isUsable)
        let row: [PostgreSQLValue] = [.text(String(repeating: "x", count: 1000))]
        #expect(
            try failure { try copier.copyIn("COPY t FROM STDIN", repeatElement(row, count: 100_000)) }?.kind
                == .unavailable)
        #expect(try listener.waitForNotification(until: instant(afterMilliseconds: 50)) == nil)
        let refused = try failure { try PostgreSQLConnection.connect(settings, within: .milliseconds(100)) }
        #expect(refused?.kind == .unavailable)
        server.thaw()
        let next = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        #expect(try next.rows("SELECT count(*) FROM t") == [[.integer(0)]])
        #expect(listener.isUsable)
    }

    @Test func `A server that dies during a statement fails it, and keeps what was committed`() async throws {
        let server = try PostgreSQLServer()
        var settings = try server.freshDatabase()
        let observer = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        try observer.simple("CREATE TABLE t (i int8)")
        try observer.execute("INSERT INTO t VALUES (?)", [.integer(1)])
        settings.applicationName = "sleeper"
        settings.statementTimeout = .seconds(60)
        let sleeper = Task.detached { [settings] in
            let connection = try PostgreSQLConnection.connect(settings, within: .seconds(10))
            let error = try failure { try connection.execute("SELECT pg_sleep(50)") }
            return (error, connection.isUsable)
        }
        let active = "SELECT count(*) FROM pg_stat_activity WHERE application_name = ? AND wait_event = 'PgSleep'"
        while try observer.rows(active, [.text("sleeper")]) != [[.integer(1)]] {}
        server.kill()
        let (error, isUsable) = try await sleeper.value
        #expect(error?.kind == .unavailable && !isUsable)
        #expect(try failure { try observer.execute("SELECT 1") }?.kind == .unavailable)
        #expect(try failure { try PostgreSQLConnection.connect(settings, within: .seconds(1)) }?.kind == .unavailable)
        try server.restart()
        let next = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        #expect(try next.rows("SELECT i FROM t") == [[.integer(1)]])
    }
}

extension [PostgreSQLValue] {
    /// The first value as a number.
    fileprivate var number: Int64 { if case .integer(let number)? = first { number } else { -1 } }
}
