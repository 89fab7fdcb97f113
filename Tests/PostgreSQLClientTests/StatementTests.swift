import GatewayTesting
import PostgreSQLClient
import Testing

@Suite(.enabled(if: hasServer)) struct StatementTests {
    @Test(arguments: [
        PostgreSQLValue.null, .integer(0), .integer(.min), .integer(.max), .text(""), .text("it's \"quoted\" \\ 🎈\n\t"),
        .bytes([]), .bytes([0, 1, 0, 255]), .bytes(Array(repeating: 7, count: 300_000)),
        .text(String(repeating: "ä", count: 200_000)),
    ])
    func `A value comes back as it was sent`(value: PostgreSQLValue) throws {
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int8, s text, b bytea)")
        let column =
            switch value {
            case .null, .integer: "i"
            case .text: "s"
            case .bytes: "b"
            }
        #expect(try connection.execute("INSERT INTO t (\(column)) VALUES (?)", [value]) == 1)
        #expect(try connection.rows("SELECT \(column) FROM t") == [[value]])
        // Without a table the type of a NULL is unknown to the server, as it is to the client.
        #expect(try connection.rows("SELECT ? AS v", [value]) == [[value]])
    }

    @Test func `Results are decoded by their type`() throws {
        let connection = try connect()
        var names: [String] = []
        var values: [PostgreSQLValue] = []
        try connection.forEachRow(
            """
            SELECT true AS a, false, (-2)::int2, 70000::int4, 4294967295::oid, 'x'::varchar(5), 'y'::bpchar(2), 'z'::name,
                'u' AS last
            """
        ) {
            names = $0
            values = $1
        }
        #expect(names.first == "a" && names.last == "last")
        #expect(
            values == [
                .integer(1), .integer(0), .integer(-2), .integer(70_000), .integer(4_294_967_295), .text("x"),
                .text("y "), .text("z"), .text("u"),
            ])
        let error = try failure { try connection.rows("SELECT 1.5::float8 AS fraction") }
        #expect(error?.kind == .other && error?.message.contains("fraction") == true)
        #expect(try connection.rows("SELECT 1") == [[.integer(1)]])
    }

    @Test func `The number of changed rows is returned`() throws {
        let connection = try connect()
        #expect(try connection.execute("CREATE TABLE t (i int8 PRIMARY KEY, s text)") == 0)
        for number in Int64(1)...5 {
            #expect(try connection.execute("INSERT INTO t VALUES (?, ?)", [.integer(number), .null]) == 1)
        }
        #expect(try connection.execute("UPDATE t SET s = ? WHERE i > ?", [.text("x"), .integer(2)]) == 3)
        #expect(try connection.execute("DELETE FROM t WHERE i = ?", [.integer(9)]) == 0)
        #expect(try connection.execute("SELECT * FROM t") == 5)
    }

    @Test func `One statement takes arguments of several types`() throws {
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int4, s text)")
        let insert = "INSERT INTO t VALUES (?, ?)"
        try connection.execute(insert, [.null, .null])
        try connection.execute(insert, [.integer(1), .null])
        try connection.execute(insert, [.integer(2), .text("b")])
        try connection.execute(insert, [.null, .text("c")])
        #expect(try failure { try connection.execute(insert, [.text("x"), .null]) }?.sqlState == "42804")
        #expect(
            try connection.rows("SELECT i, s FROM t WHERE i IS NOT DISTINCT FROM ? ORDER BY s", [.null])
                == [[.null, .text("c")], [.null, .null]])
        #expect(try connection.execute("UPDATE t SET s = ? WHERE i = ?", [.text("'?'"), .integer(2)]) == 1)
        #expect(try connection.rows("SELECT s, '?' FROM t WHERE i = ?", [.integer(2)]) == [[.text("'?'"), .text("?")]])
    }

    @Test func `Beyond the bound of prepared statements, statements are sent as a whole`() throws {
        let connection = try connect()
        for number in Int64(0)..<510 {
            #expect(try connection.rows("SELECT ? + \(number)", [.integer(1)]) == [[.integer(number + 1)]])
        }
        #expect(try connection.rows("SELECT count(*) FROM pg_prepared_statements")[0][0] == .integer(500))
        #expect(
            try connection.pipeline([PostgreSQLStatement("SELECT ? + 1000", [.integer(1)])]) == [1])
    }

    @Test func `A statement is prepared again after the schema has changed`() throws {
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int8); INSERT INTO t VALUES (1)")
        #expect(try connection.rows("SELECT * FROM t") == [[.integer(1)]])
        try connection.simple("ALTER TABLE t ADD COLUMN s text")
        #expect(try failure { try connection.rows("SELECT * FROM t") }?.sqlState == "0A000")
        #expect(try connection.rows("SELECT * FROM t") == [[.integer(1), .null]])
    }

    @Test func `Errors before anything is sent leave the connection usable`() throws {
        let connection = try connect()
        #expect(try failure { try connection.execute("SELECT ?", [.text("a\0b")]) }?.kind == .other)
        #expect(
            try failure { try connection.execute("SELECT ?") }?.message.contains("1 placeholders and 0 arguments")
                == true)
        #expect(try failure { try connection.simple("SELECT 1\0") }?.kind == .other)
        let many = [PostgreSQLValue](repeating: .null, count: 65_536)
        #expect(try failure { try connection.execute("SELECT 1", many) }?.kind == .other)
        #expect(connection.isUsable)
        #expect(try connection.rows("SELECT 1") == [[.integer(1)]])
    }

    @Test func `An error of the closure is thrown, and the connection stays usable`() throws {
        struct Stop: Error {}
        let connection = try connect()
        #expect(throws: Stop.self) {
            try connection.forEachRow("SELECT generate_series(1, 1000)") { _, values in
                if values == [.integer(3)] { throw Stop() }
            }
        }
        #expect(
            throws: PostgreSQLError.self, "A connection cannot be used within the closure",
            performing: {
                try connection.forEachRow("SELECT 1") { _, _ in try connection.simple("SELECT 1") }
            })
        #expect(try connection.rows("SELECT 1") == [[.integer(1)]])
    }

    @Test func `Scripts run several statements`() throws {
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int8); BEGIN; INSERT INTO t VALUES (1); COMMIT;")
        try connection.simple("BEGIN")
        #expect(connection.isInTransaction)
        try connection.execute("INSERT INTO t VALUES (?)", [.integer(2)])
        try connection.simple("ROLLBACK")
        #expect(!connection.isInTransaction)
        #expect(try failure { try connection.simple("INSERT INTO t VALUES (3); SELECT nothing") }?.sqlState == "42703")
        #expect(try connection.rows("SELECT i FROM t") == [[.integer(1)]])
        try connection.simple("")
        #expect(try connection.execute("") == 0)
    }

    @Test func `A statement that copies closes the connection instead of waiting`() throws {
        for sql in ["COPY (SELECT 1) TO STDOUT", "COPY copied FROM STDIN"] {
            let connection = try connect()
            try connection.simple("CREATE TEMPORARY TABLE copied (i int8)")
            #expect(try failure { try connection.simple(sql) }?.kind == .unavailable)
            #expect(!connection.isUsable)
        }
    }

    @Test(.disabled(if: TestRun.isSanitized, "It measures memory."))
    func `A result of a million rows is not held in memory`() throws {
        let connection = try connect { $0.statementTimeout = .seconds(60) }
        let before = try residentBytes()
        var (count, sum, peak) = (0, Int64(0), 0)
        try connection.forEachRow("SELECT i, repeat('x', 50) FROM generate_series(1::int8, 1000000) AS i") {
            _, values in
            count += 1
            if case .integer(let number) = values[0] { sum += number }
            if count % 100_000 == 0 { peak = max(peak, try residentBytes()) }
        }
        #expect(count == 1_000_000 && sum == 500_000_500_000)
        #expect(peak - before < 20 << 20)
    }
}
