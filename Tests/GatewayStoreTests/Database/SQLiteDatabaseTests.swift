import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayStore

/// The contract of `SQLDatabase`, kept by SQLite.
struct SQLiteDatabaseTests {
    private struct Stop: Error {}

    private let directory = TemporaryDirectory()
    private let database: any SQLDatabase

    init() throws {
        try PrivateFiles.makeDirectory(directory.path)
        database = try SQLiteDatabase(file: directory("test.sqlite"), label: "test", readers: 2)
        _ = try database.write { transaction in
            try transaction.execute(
                sql: "CREATE TABLE item (id INTEGER PRIMARY KEY, number INTEGER, word TEXT, content BLOB) STRICT")
        }
    }

    private func add(_ ids: Int...) throws {
        try database.write { transaction in
            for id in ids { try transaction.execute(sql: "INSERT INTO item (id) VALUES (?)", arguments: [id]) }
        }
    }

    private func count() throws -> Int64? {
        try database.read { try $0.integer(sql: "SELECT count(*) FROM item") }
    }

    @Test("Values of every kind are read as they were written")
    func values() throws {
        let rows: [[SQLValue]] = [
            [.integer(1), .null, .null, .null],
            [.integer(2), .integer(.min), .text(""), .bytes([])],
            [.integer(3), .integer(.max), .text("é 🙂 '?'"), .bytes([0, 1, 0, 255, 0])],
        ]
        try database.write { transaction in
            for row in rows {
                try transaction.execute(
                    sql: "INSERT INTO item (id, number, word, content) VALUES (?, ?, ?, ?)",
                    arguments: [
                        Int64(row[0]), Int64(row[1]), String(row[2]), [UInt8](row[3]),
                    ])
            }
        }
        let read = try database.read { try $0.rows(sql: "SELECT * FROM item ORDER BY id") }
        #expect(read.map(\.values) == rows)
        #expect(read.allSatisfy { $0.columns == ["id", "number", "word", "content"] })
    }

    @Test("A column is read as its type only, and an unknown column is an error")
    func columns() throws {
        _ = try database.write { transaction in
            try transaction.execute(
                sql: "INSERT INTO item (id, number, word, content) VALUES (1, 7, 'seven', ?)",
                arguments: [[UInt8](0...2)])
        }
        let row = try #require(try database.read { try $0.firstRow(sql: "SELECT * FROM item") })
        #expect(try row.required("number", as: Int.self) == 7)
        #expect(try row.required("number", as: Bool.self))
        #expect(try row.required("word", as: String.self) == "seven")
        #expect(try row.required("content", as: [UInt8].self) == [0, 1, 2])
        #expect(try row.time("number").microseconds == 7)
        for column in ["number", "content", "none"] {
            #expect(throws: LedgerUnavailable.self) { try row.required(column, as: String.self) }
        }
        for column in ["word", "content"] {
            #expect(throws: LedgerUnavailable.self) { try row.optional(column, as: Int64.self) }
        }
        #expect(throws: LedgerUnavailable.self) { try row.required("number", as: [UInt8].self) }
    }

    @Test("A statement returns the number of rows that it changed")
    func changedRows() throws {
        try add(1, 2, 3)
        let counts = try database.write { transaction in
            try [
                "UPDATE item SET number = 1 WHERE id >= 2", "UPDATE item SET number = 1 WHERE id > 9",
                "INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO NOTHING",
                "INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET number = 2",
                "DELETE FROM item WHERE id = 3", "CREATE TABLE other (id INTEGER)", "DELETE FROM item",
            ].map { try transaction.execute(sql: $0) }
        }
        #expect(counts == [2, 0, 0, 1, 1, 0, 2])
    }

    @Test("A body that throws leaves no change")
    func rollback() throws {
        try add(1)
        #expect(throws: Stop.self) {
            try database.write { transaction in
                try transaction.execute(sql: "DELETE FROM item")
                throw Stop()
            }
        }
        #expect(throws: Stop.self) {
            try database.inTransaction(announcing: false) { transaction in
                try transaction.execute(sql: "DELETE FROM item")
                throw Stop()
            }
        }
        #expect(try count() == 1)
        try database.inTransaction(announcing: false) { try $0.execute(sql: "DELETE FROM item") }
        #expect(try count() == 0)
    }

    @Test("After SQLite has closed the transaction by itself, no statement is executed")
    func closedTransaction() throws {
        try add(1)
        var attempts: [Result<Int, any Error>] = []
        try? database.inTransaction(announcing: false) { transaction in
            attempts.append(Result { try transaction.execute(sql: "INSERT OR ROLLBACK INTO item (id) VALUES (1)") })
            attempts.append(Result { try transaction.execute(sql: "DELETE FROM item") })
            attempts.append(Result { try transaction.rows(sql: "SELECT * FROM item").count })
            throw Stop()
        }
        #expect(attempts.count == 3 && attempts.allSatisfy { (try? $0.get()) == nil })
        #expect(try count() == 1)
    }

    @Test("A violated constraint concerns one change; a file that is no database is damaged")
    func errors() throws {
        try add(1)
        let violation = #expect(throws: (any Error).self) { try add(1) }
        let error = try #require(violation)
        #expect(!database.isFailure(error) && !database.isConflict(error) && database.damage(in: error) == nil)
        #expect(database.message(for: error).contains("constraint"))
        try directory.write(Array(repeating: UInt8(ascii: "x"), count: 4096), to: "other.sqlite")
        let unreadable = try #require(
            #expect(throws: (any Error).self) {
                let other = try SQLiteDatabase(file: directory("other.sqlite"), label: "other", readers: 1)
                try other.makeDurable()
            })
        #expect(database.isFailure(unreadable) && database.damage(in: unreadable) != nil)
    }

    @Test("Work of the writer runs in its order, and a closed database runs none")
    func order() async throws {
        let first = database
        await withCheckedContinuation { continuation in
            first.enqueue {
                try? first.inTransaction(announcing: false) { try $0.execute(sql: "INSERT INTO item (id) VALUES (1)") }
            }
            first.enqueue {
                try? first.inTransaction(announcing: false) { try $0.execute(sql: "UPDATE item SET number = 5") }
                continuation.resume()
            }
        }
        #expect(try first.read { try $0.integer(sql: "SELECT number FROM item") } == 5)
        try first.close()
        #expect(throws: (any Error).self) { try first.read { try $0.rows(sql: "SELECT * FROM item") } }
        let closed: Bool = await withCheckedContinuation { continuation in
            first.enqueueRead { access in
                let rows = Result { try access.get().rows(sql: "SELECT * FROM item") }
                continuation.resume(returning: (try? rows.get()) == nil)
            }
        }
        #expect(closed)
    }
}
