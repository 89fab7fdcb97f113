/// A value of an argument or of a result.
package enum PostgreSQLValue: Sendable, Hashable {
    /// SQL's NULL.
    case null
    /// An integer; in results also a Boolean as 0 or 1, and an object identifier.
    case integer(Int64)
    /// Text without a NUL character.
    case text(String)
    /// A value of the type `bytea`.
    case bytes([UInt8])
}

/// A statement with the arguments of its placeholders `?`, for ``PostgreSQLConnection/pipeline(_:onRow:)``.
package struct PostgreSQLStatement: Sendable, Hashable {
    /// One SQL statement. Connections prepare it once, so values belong into arguments.
    package let sql: String
    /// The values of the placeholders, in order.
    package let arguments: [PostgreSQLValue]

    /// Creates a statement.
    package init(_ sql: String, _ arguments: [PostgreSQLValue] = []) {
        self.sql = sql
        self.arguments = arguments
    }
}
