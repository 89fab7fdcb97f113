internal import Foundation
internal import GRDB
internal import GatewayCore

/// Reads of columns that a damaged file may have filled with anything. GRDB's own subscripts end the process where a value is NULL
/// or of another type; these throw.
extension Row {
    /// The value of a column that is never NULL.
    func required<Value: DatabaseValueConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(LedgerUnavailable) -> Value {
        guard let value = try optional(column, as: type) else { throw Self.unreadable(column) }
        return value
    }

    /// The value of a column, or nil where it is NULL.
    func optional<Value: DatabaseValueConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(LedgerUnavailable) -> Value? {
        guard let stored = try? decode(DatabaseValue.self, forColumn: column) else { throw Self.unreadable(column) }
        if stored.isNull { return nil }
        guard let value = Value.fromDatabaseValue(stored) else { throw Self.unreadable(column) }
        return value
    }

    /// The time in a column of microseconds. Times before 1970 and after the year 9999 are no times that a ledger was given.
    func time(_ column: String) throws(LedgerUnavailable) -> WallTime {
        let microseconds = try required(column, as: Int64.self)
        guard (0...Self.latestTime).contains(microseconds) else { throw Self.unreadable(column) }
        return WallTime(microseconds: microseconds)
    }

    /// The time in a column of microseconds, or nil where it is NULL.
    func optionalTime(_ column: String) throws(LedgerUnavailable) -> WallTime? {
        try optional(column, as: Int64.self) == nil ? nil : time(column)
    }

    /// 10000-01-01T00:00:00Z.
    private static let latestTime: Int64 = 253_402_300_800_000_000

    private static func unreadable(_ column: String) -> LedgerUnavailable {
        LedgerUnavailable("the ledger holds a row that it did not write: its \(column) cannot be read")
    }
}
