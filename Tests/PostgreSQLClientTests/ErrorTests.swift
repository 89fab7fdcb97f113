import GatewayTesting
import PostgreSQLClient
import Testing

@Suite(.enabled(if: hasServer)) struct ErrorTests {
    @Test func `Serializable transactions that depend on each other conflict`() throws {
        let settings = try freshDatabase()
        let one = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        let two = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        try one.simple("CREATE TABLE t (i int8, n int8); INSERT INTO t VALUES (1, 0), (2, 0)")
        for connection in [one, two] {
            try connection.simple("BEGIN ISOLATION LEVEL SERIALIZABLE")
            #expect(try connection.rows("SELECT sum(n)::int8 FROM t") == [[.integer(0)]])
        }
        try one.execute("UPDATE t SET n = ? WHERE i = ?", [.integer(1), .integer(1)])
        try one.simple("COMMIT")
        let error = try failure {
            try two.execute("UPDATE t SET n = ? WHERE i = ?", [.integer(1), .integer(2)])
            try two.simple("COMMIT")
        }
        #expect(error?.kind == .conflict && error?.sqlState == "40001")
        #expect(two.isUsable)
        try two.simple("ROLLBACK")
        #expect(try two.execute("UPDATE t SET n = ? WHERE i = ?", [.integer(1), .integer(2)]) == 1)
    }

    @Test func `Violated constraints are named, and values are not`() throws {
        let connection = try connect()
        try connection.simple(
            """
            CREATE TABLE t (s text CONSTRAINT only_one PRIMARY KEY, i int8 NOT NULL CONSTRAINT positive CHECK (i > 0));
            CREATE TABLE u (s text CONSTRAINT exists_in_t REFERENCES t)
            """)
        let insert = "INSERT INTO t VALUES (?, ?)"
        try connection.execute(insert, [.text("visible-value"), .integer(1)])
        let violations: [(PostgreSQLError?, String, String)] = [
            (
                try failure { try connection.execute(insert, [.text("visible-value"), .integer(1)]) }, "23505",
                "only_one"
            ),
            (
                try failure { try connection.execute(insert, [.text("visible-value2"), .integer(-1)]) }, "23514",
                "positive"
            ),
            (try failure { try connection.execute(insert, [.text("visible-value3"), .null]) }, "23502", "null"),
            (
                try failure { try connection.execute("INSERT INTO u VALUES (?)", [.text("visible-value4")]) }, "23503",
                "exists_in_t"
            ),
        ]
        for (error, sqlState, word) in violations {
            #expect(error?.kind == .constraint && error?.sqlState == sqlState)
            #expect(error?.message.contains(word) == true && error?.message.contains("visible-value") == false)
        }
        let error = try failure { try connection.execute("SELECT ?::text::int8", [.text("visible-value")]) }
        #expect(error?.sqlState == "22P02" && error?.message.contains("visible-value") == false)
        #expect(connection.isUsable)
    }

    @Test func `Writes in a read-only session are refused as such`() throws {
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int8); SET default_transaction_read_only = on")
        #expect(try failure { try connection.execute("INSERT INTO t VALUES (1)") }?.kind == .readOnly)
        #expect(connection.isUsable)
    }

    @Test func `A session that the server ends is not usable afterwards`() throws {
        let (one, two) = (try connect(), try connect())
        let pid = try one.rows("SELECT pg_backend_pid()")[0]
        #expect(try two.rows("SELECT pg_terminate_backend(?::int4)", pid) == [[.integer(1)]])
        let error = try failure { while true { try one.execute("SELECT 1") } }
        #expect(error?.kind == .unavailable)
        #expect(!one.isUsable)
        #expect(try failure { try one.execute("SELECT 1") }?.kind == .unavailable)
        #expect(try failure { try one.copyIn("COPY t FROM STDIN", []) }?.kind == .unavailable)
    }

    @Test func `A closed connection is not usable, and can be woken`() throws {
        let connection = try connect()
        connection.close()
        connection.close()
        connection.wakeUp.wake()
        #expect(!connection.isUsable && !connection.isInTransaction)
        #expect(try failure { try connection.simple("SELECT 1") }?.kind == .unavailable)
    }
}
