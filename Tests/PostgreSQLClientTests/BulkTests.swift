import GatewayTesting
import PostgreSQLClient
import Testing

@Suite(.enabled(if: hasServer)) struct BulkTests {
    @Test func `COPY stores every kind of value`() throws {
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int8, s text, b bytea)")
        let rows: [[PostgreSQLValue]] = [
            [.integer(.min), .text("tab\tnewline\nreturn\rback\\slash"), .bytes([0, 9, 10, 92, 255])],
            [.integer(1), .text(""), .bytes([])], [.integer(2), .text("\\N"), .null], [.integer(3), .null, .null],
            [.integer(4), .text("\\."), .null], [.integer(.max), .text("🎈\u{7}\u{8}\u{b}"), .null],
        ]
        #expect(try connection.copyIn("COPY t FROM STDIN", rows) == 6)
        #expect(try connection.rows("SELECT * FROM t ORDER BY i") == rows)
        #expect(try connection.copyIn("COPY t FROM STDIN", []) == 0)
    }

    @Test func `COPY sends many rows in chunks`() throws {
        let connection = try connect { $0.statementTimeout = .seconds(60) }
        try connection.simple("CREATE TABLE t (i int8, s text)")
        let rows = (0..<200_000).lazy.map { [PostgreSQLValue.integer(Int64($0)), .text("row \($0)")] }
        #expect(try connection.copyIn("COPY t (i, s) FROM STDIN", rows) == 200_000)
        #expect(try connection.rows("SELECT count(*), max(i) FROM t") == [[.integer(200_000), .integer(199_999)]])
    }

    @Test func `A COPY that fails stores nothing and leaves the connection usable`() throws {
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int8 PRIMARY KEY, s text)")
        let good: [PostgreSQLValue] = [.integer(1), .text("x")]
        let copy = "COPY t FROM STDIN"
        #expect(try failure { try connection.copyIn(copy, [good, good]) }?.kind == .constraint)
        #expect(try failure { try connection.copyIn(copy, [good, [.integer(2)]]) }?.sqlState == "22P04")
        let text = try failure { try connection.copyIn(copy, [good, [.integer(2), .text("a\0b")]]) }
        #expect(text?.kind == .other && text?.message.contains("NUL") == true)
        #expect(try failure { try connection.copyIn("COPY nothing FROM STDIN", [good]) }?.sqlState == "42P01")
        let many = repeatElement(good, count: 100_000)
        #expect(try failure { try connection.copyIn(copy, many) }?.kind == .constraint)
        #expect(try connection.rows("SELECT count(*) FROM t") == [[.integer(0)]])
    }

    @Test func `Another statement than COPY closes the connection`() throws {
        let connection = try connect()
        #expect(try failure { try connection.copyIn("SELECT 1", []) }?.kind == .unavailable)
        #expect(!connection.isUsable)
    }

    @Test func `A pipeline returns the count of each statement`() throws {
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int8 PRIMARY KEY, s text)")
        let insert = "INSERT INTO t VALUES (?, ?)"
        var rows: [String] = []
        let counts = try connection.pipeline(
            [
                PostgreSQLStatement(insert, [.integer(1), .text("a")]),
                PostgreSQLStatement(insert, [.integer(2), .null]),
                PostgreSQLStatement("SELECT i, s FROM t ORDER BY i"),
                PostgreSQLStatement("UPDATE t SET s = ? RETURNING i", [.text("b")]),
                PostgreSQLStatement("DELETE FROM t WHERE i > ?", [.integer(5)]),
            ], onRow: { index, columns, values in rows.append("\(index) \(columns) \(values.count)") })
        #expect(counts == [1, 1, 2, 2, 0])
        #expect(rows == [#"2 ["i", "s"] 2"#, #"2 ["i", "s"] 2"#, #"3 ["i"] 1"#, #"3 ["i"] 1"#])
        #expect(try connection.pipeline([]) == [])
        #expect(try connection.rows("SELECT s FROM t") == [[.text("b")], [.text("b")]])
    }

    @Test func `An error in the middle of a pipeline undoes it`() throws {
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int8 PRIMARY KEY)")
        func insert(_ number: Int64) -> PostgreSQLStatement {
            PostgreSQLStatement("INSERT INTO t VALUES (?)", [.integer(number)])
        }
        let list = [insert(1), insert(1), insert(2), PostgreSQLStatement("SELECT 5 + ?", [.integer(1)])]
        #expect(try failure { try connection.pipeline(list) }?.kind == .constraint)
        #expect(try connection.rows("SELECT i FROM t") == [])
        // The connection prepares a skipped statement the next time.
        #expect(try connection.pipeline([insert(3), list[3]]) == [1, 1])
        let script = [PostgreSQLStatement("BEGIN"), insert(4), insert(3), PostgreSQLStatement("COMMIT")]
        #expect(try failure { try connection.pipeline(script) }?.kind == .constraint)
        #expect(connection.isInTransaction)
        try connection.simple("ROLLBACK")
        #expect(
            try failure { try connection.pipeline([insert(5), PostgreSQLStatement("SELECT x")]) }?.sqlState == "42703")
        #expect(try failure { try connection.pipeline([insert(6), PostgreSQLStatement("SELECT ?")]) }?.kind == .other)
        #expect(
            try failure { try connection.pipeline([insert(6), PostgreSQLStatement("SELECT ?", [.text("\0")])]) }?.kind
                == .other)
        #expect(try connection.rows("SELECT i FROM t") == [[.integer(3)]])
    }

    @Test func `An error of the closure does not stop a pipeline`() throws {
        struct Stop: Error {}
        let connection = try connect()
        try connection.simple("CREATE TABLE t (i int8)")
        #expect(throws: Stop.self) {
            try connection.pipeline(
                [PostgreSQLStatement("SELECT 1"), PostgreSQLStatement("INSERT INTO t VALUES (1)")],
                onRow: { _, _, _ in throw Stop() })
        }
        #expect(try connection.rows("SELECT i FROM t") == [[.integer(1)]])
    }

    @Test func `A pipeline whose requests and responses exceed all buffers completes`() throws {
        let connection = try connect { $0.statementTimeout = .seconds(60) }
        let text = PostgreSQLValue.text(String(repeating: "x", count: 5000))
        let list = [PostgreSQLStatement](repeating: PostgreSQLStatement("SELECT ?", [text]), count: 10_000)
        var rows = 0
        let counts = try connection.pipeline(list) { _, _, values in if values == [text] { rows += 1 } }
        #expect(counts.count == 10_000 && rows == 10_000)
        #expect(try failure { try connection.pipeline(list + [list[0]]) }?.kind == .other)
        #expect(connection.isUsable)
    }
}
