internal import GatewayCore
internal import GatewaySupport

/// A row of a result.
struct SQLRow: Sendable {
    /// The names of the columns, shared by the rows of a result.
    let columns: [String]
    let values: [SQLValue]
}

/// Column reads that throw on unexpected values, which a damaged database may contain.
extension SQLRow {
    /// Returns the value of a column. Throws if it is NULL.
    func required<Value: SQLColumnValue>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(LedgerUnavailable) -> Value {
        guard let value = try optional(column, as: type) else { throw Self.unreadable(column) }
        return value
    }

    /// Returns the value of a column, or nil if it is NULL.
    func optional<Value: SQLColumnValue>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(LedgerUnavailable) -> Value? {
        guard let index = columns.firstIndex(of: column) else { throw Self.unreadable(column) }
        if values[index] == .null { return nil }
        guard let value = Value(values[index]) else { throw Self.unreadable(column) }
        return value
    }

    /// Returns the time in a column of microseconds. Throws if it is NULL, before 1970 or after `maximumTime`.
    func time(_ column: String) throws(LedgerUnavailable) -> WallTime {
        let microseconds = try required(column, as: Int64.self)
        guard (0...Self.maximumTime).contains(microseconds) else { throw Self.unreadable(column) }
        return WallTime(microseconds: microseconds)
    }

    /// Returns the time in a column of microseconds, or nil if it is NULL.
    func optionalTime(_ column: String) throws(LedgerUnavailable) -> WallTime? {
        try optional(column, as: Int64.self) == nil ? nil : time(column)
    }

    /// The latest time that the ledger stores: 10000-01-01T00:00:00Z.
    static let maximumTime: Int64 = 253_402_300_800_000_000

    private static func unreadable(_ column: String) -> LedgerUnavailable {
        LedgerUnavailable("the ledger contains an invalid row: its \(column) cannot be read")
    }
}

/// A type that a column can be read as.
protocol SQLColumnValue {
    /// Converts a value that is not NULL; nil if it has another type or is out of range.
    init?(_ value: SQLValue)
}

extension String: SQLColumnValue {
    init?(_ value: SQLValue) {
        guard case .text(let text) = value else { return nil }
        self = text
    }
}

extension Int64: SQLColumnValue {
    init?(_ value: SQLValue) {
        guard case .integer(let integer) = value else { return nil }
        self = integer
    }
}

extension Int: SQLColumnValue {
    init?(_ value: SQLValue) {
        guard case .integer(let integer) = value else { return nil }
        self.init(exactly: integer)
    }
}

extension Bool: SQLColumnValue {
    init?(_ value: SQLValue) {
        guard case .integer(let integer) = value else { return nil }
        self = integer != 0
    }
}

extension [UInt8]: SQLColumnValue {
    init?(_ value: SQLValue) {
        guard case .bytes(let bytes) = value else { return nil }
        self = bytes
    }
}
