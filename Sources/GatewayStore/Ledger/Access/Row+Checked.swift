internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// Column reads that throw on unexpected values. GRDB's subscripts trap if a value is NULL or has another type, which a
/// damaged file may cause.
extension Row {
    /// Returns the value of a column. Throws if it is NULL.
    func required<Value: DatabaseValueConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(LedgerUnavailable) -> Value {
        guard let value = try optional(column, as: type) else { throw Self.unreadable(column) }
        return value
    }

    /// Returns the value of a column, or nil if it is NULL.
    func optional<Value: DatabaseValueConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(LedgerUnavailable) -> Value? {
        guard let stored = try? decode(DatabaseValue.self, forColumn: column) else { throw Self.unreadable(column) }
        if stored.isNull { return nil }
        guard let value = Value.fromDatabaseValue(stored) else { throw Self.unreadable(column) }
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
