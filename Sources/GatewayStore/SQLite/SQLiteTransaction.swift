internal import Foundation
internal import GRDB
internal import GatewayCore

/// An open transaction of an SQLite connection.
struct SQLiteTransaction: SQLTransaction {
    private let database: Database

    init(_ database: Database) { self.database = database }

    @discardableResult
    func execute(sql: String, arguments: SQLArguments) throws -> Int {
        let before = database.totalChangesCount
        try statement(sql).execute(arguments: StatementArguments(arguments))
        // SQLite keeps the number of the previous statement if this one changes no rows by its kind.
        return database.totalChangesCount == before ? 0 : database.changesCount
    }

    func forEachRow(sql: String, arguments: SQLArguments, _ body: (SQLRow) throws -> Void) throws {
        let statement = try statement(sql)
        let columns = statement.columnNames
        let rows = try Row.fetchCursor(statement, arguments: StatementArguments(arguments))
        while let row = try rows.next() {
            var values: [SQLValue] = []
            values.reserveCapacity(columns.count)
            for index in 0..<columns.count { values.append(SQLValue(row[index])) }
            try body(SQLRow(columns: columns, values: values))
        }
    }

    func indexHint(_ name: String) -> String { "INDEXED BY \(name)" }

    /// Returns the compiled statement. Statements are cached for each connection, because compiling one costs more than
    /// executing it.
    private func statement(_ sql: String) throws -> Statement {
        // SQLite closes the transaction by itself on some errors, such as a failed read. Later statements would see
        // another state, or would be committed alone.
        guard database.isInsideTransaction else { throw LedgerUnavailable("the database cannot be read") }
        return try database.cachedStatement(sql: sql)
    }
}

extension StatementArguments {
    fileprivate init(_ arguments: SQLArguments) { self.init(arguments.values.lazy.map(\.stored)) }
}

extension SQLValue {
    fileprivate init(_ stored: DatabaseValue) {
        self =
            switch stored.storage {
            case .null: .null
            case .int64(let integer): .integer(integer)
            // Only a damaged file contains a real number. No text of the tables has this form.
            case .double(let number): .text("\(number)")
            case .string(let text): .text(text)
            case .blob(let data): .bytes(Array(data))
            }
    }

    fileprivate var stored: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let integer): integer.databaseValue
        case .text(let text): text.databaseValue
        case .bytes(let bytes): Data(bytes).databaseValue
        }
    }
}
