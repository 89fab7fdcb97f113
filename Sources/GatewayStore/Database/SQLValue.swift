/// A value of a column, or an argument of a statement. Truth values are the integers 0 and 1.
enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
}

/// A type whose values are arguments of statements.
protocol SQLValueConvertible {
    var sqlValue: SQLValue { get }
}

extension Int64: SQLValueConvertible { var sqlValue: SQLValue { .integer(self) } }
extension Int32: SQLValueConvertible { var sqlValue: SQLValue { .integer(Int64(self)) } }
extension Int: SQLValueConvertible { var sqlValue: SQLValue { .integer(Int64(self)) } }
extension String: SQLValueConvertible { var sqlValue: SQLValue { .text(self) } }
extension [UInt8]: SQLValueConvertible { var sqlValue: SQLValue { .bytes(self) } }

/// The arguments of a statement, in the order of its `?` placeholders. Nil is NULL.
struct SQLArguments: Sendable, ExpressibleByArrayLiteral {
    let values: [SQLValue]

    /// Creates arguments of values.
    init(_ values: [SQLValue]) { self.values = values }

    init(arrayLiteral elements: (any SQLValueConvertible)?...) { values = elements.map { $0?.sqlValue ?? .null } }
}
