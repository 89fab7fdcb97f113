internal import GatewayCore

/// An open transaction of a database, or one state of it for reads. Valid only during the access that created it, on the
/// thread of that access.
///
/// Statements have `?` placeholders and use only what SQLite 3.40 and PostgreSQL 13 have in common.
protocol SQLTransaction {
    /// Executes a statement that returns no rows.
    ///
    /// - Returns: The number of rows that it inserted, updated or deleted.
    @discardableResult
    func execute(sql: String, arguments: SQLArguments) throws -> Int

    /// Calls the body with each row of the result, in order. The body must not execute statements.
    func forEachRow(sql: String, arguments: SQLArguments, _ body: (SQLRow) throws -> Void) throws

    /// Returns the text after the name of a table that makes the database use the index; empty for a database without
    /// such a text.
    func indexHint(_ name: String) -> String

    /// The name of this gateway among those that use the database; nil for a database with one user.
    var node: String? { get }
}

extension SQLTransaction {
    @discardableResult
    func execute(sql: String) throws -> Int { try execute(sql: sql, arguments: []) }

    func forEachRow(sql: String, _ body: (SQLRow) throws -> Void) throws {
        try forEachRow(sql: sql, arguments: [], body)
    }

    func indexHint(_ name: String) -> String { "" }

    var node: String? { nil }

    /// Returns all rows of the result.
    func rows(sql: String, arguments: SQLArguments = []) throws -> [SQLRow] {
        var rows: [SQLRow] = []
        try forEachRow(sql: sql, arguments: arguments) { rows.append($0) }
        return rows
    }

    /// Returns the first row of the result, if any. The database computes all rows, so the result should be short.
    func firstRow(sql: String, arguments: SQLArguments = []) throws -> SQLRow? {
        var first: SQLRow?
        try forEachRow(sql: sql, arguments: arguments) { row in
            if first == nil { first = row }
        }
        return first
    }

    /// Returns the integer in the first column of the first row; nil without a row, and for NULL.
    func integer(sql: String, arguments: SQLArguments = []) throws -> Int64? {
        guard let row = try firstRow(sql: sql, arguments: arguments), let column = row.columns.first else { return nil }
        return try row.optional(column, as: Int64.self)
    }
}
