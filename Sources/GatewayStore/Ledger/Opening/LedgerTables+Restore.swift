internal import Foundation
internal import GRDB
internal import GatewayCore

/// The statements about generations, copies and restores.
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

    /// Marks a copy as one: whoever opens it as a ledger learns that it was restored.
    func noteBackup(_ now: WallTime) throws { try put(property: "copied", "\(now)") }

    /// Notes that the ledger is a copy that was put in use, until `settleRestore` has been carried out.
    ///
    /// - Parameter isCopy: whether something else than the mark in the ledger says so.
    func noteRestore(isCopy: Bool, now: WallTime) throws {
        let isMarked = try property("copied") != nil
        guard isCopy || isMarked else { return }
        try put(property: "restored", "\(now)")
        try remove(property: "copied")
    }

    /// Since when the ledger is a restored copy with which nothing has been done yet; nil where it is none.
    func pendingRestore() throws -> WallTime? {
        guard let text = try property("restored") else { return nil }
        // In the property's place there is garbage, and not nothing.
        return WallTime(rfc3339: text) ?? WallTime(seconds: 0)
    }

    /// The latest time that the ledger knows of: what happened later is not in it.
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

    /// Ends every session.
    ///
    /// - Returns: how many there were.
    func endAllSessions() throws -> Int {
        try execute(sql: "DELETE FROM session")
        return database.changesCount
    }
}
