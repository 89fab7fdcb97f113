internal import Foundation
internal import GRDB
internal import GatewaySupport

/// Statements on generations, copies and restores.
extension LedgerTables {
    func property(_ name: String) throws -> String? {
        try Data.fetchOne(
            database.cachedStatement(sql: "SELECT value FROM property WHERE name = ?"), arguments: [name]
        ).flatMap { String(validating: $0, as: UTF8.self) }
    }

    func put(property name: String, _ value: String) throws {
        try execute(
            sql: """
                INSERT INTO property (name, value) VALUES (?, ?)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value
                """,
            arguments: [name, Data(value.utf8)])
    }

    func remove(property name: String) throws {
        try execute(sql: "DELETE FROM property WHERE name = ?", arguments: [name])
    }

    func generation() throws -> String? { try property("generation") }

    func put(generation: String) throws { try put(property: "generation", generation) }

    /// Marks the database as a backup copy. A gateway that starts with the copy detects the mark as a restore.
    func noteBackup(_ now: WallTime) throws { try put(property: "copied", "\(now)") }

    /// Stores that the ledger was restored from a copy, until `completeRestore` has run.
    ///
    /// - Parameter isCopy: Whether the generation shows that it is a copy. If false, the mark of `noteBackup` decides.
    func noteRestore(isCopy: Bool, now: WallTime) throws {
        let isMarked = try property("copied") != nil
        guard isCopy || isMarked else { return }
        try put(property: "restored", "\(now)")
        try remove(property: "copied")
    }

    /// Returns the time at which a restore was detected that `completeRestore` has not completed; nil if none is
    /// pending.
    func pendingRestore() throws -> WallTime? {
        guard let text = try property("restored") else { return nil }
        // An invalid value still means that a restore is pending.
        return WallTime(rfc3339: text) ?? WallTime(seconds: 0)
    }

    /// Returns the time of the latest change in the ledger; nil for an empty one.
    func latestTime() throws -> WallTime? {
        try Int64.fetchOne(
            database,
            sql: """
                SELECT max(latest) FROM (
                    SELECT max(last_seen) AS latest FROM registration UNION ALL SELECT max(renewed) FROM session
                    UNION ALL SELECT max(at) FROM revoked_user)
                """
        ).map(WallTime.init(microseconds:))
    }

    /// Removes every session.
    ///
    /// - Returns: The number of sessions removed.
    func endAllSessions() throws -> Int {
        try execute(sql: "DELETE FROM session")
        return database.changesCount
    }
}
