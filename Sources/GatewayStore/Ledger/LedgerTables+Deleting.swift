internal import Foundation
internal import GRDB
internal import GatewayCore

/// The statements about registrations that are to be deleted at the backend.
extension LedgerTables {
    /// Marks a registration to be deleted.
    ///
    /// - Returns: whether there was such a registration, and it was live.
    @discardableResult
    func doom(_ id: RegistrationID, because reason: SweepReason) throws -> Bool {
        try execute(
            sql: "UPDATE registration SET state = 'deleting', reason = ? WHERE id = ? AND state = 'live'",
            arguments: [reason.rawValue, id.text])
        return database.changesCount > 0
    }

    /// Marks all but the user's registrations that were seen last.
    func keepRegistrations(_ count: Int, of user: UserName) throws {
        // An index alone answers this; which ones to mark is asked of the rows themselves.
        let live = try self.count(
            sql: "SELECT count(*) FROM registration WHERE owner = ? AND state = 'live'", arguments: [user.text])
        guard live > count else { return }
        try execute(
            sql: """
                UPDATE registration SET state = 'deleting', reason = 'surplus' WHERE rowid IN (
                    SELECT rowid FROM registration WHERE owner = ? AND state = 'live'
                    ORDER BY last_seen DESC, rowid DESC LIMIT -1 OFFSET ?)
                """,
            arguments: [user.text, count])
    }

    /// Notes since when the backend has not confirmed that it deleted the registration.
    ///
    /// - Returns: whether that was `confirmationPeriod` ago.
    func isUnconfirmedForLong(_ id: RegistrationID, now: WallTime) throws -> Bool {
        var since = now
        for table in ["registration", "stray"] {
            try execute(
                sql: "UPDATE \(table) SET undeleted = ? WHERE id = ? AND undeleted IS NULL",
                arguments: [now.microseconds, id.text])
            let row = try firstRow(sql: "SELECT undeleted FROM \(table) WHERE id = ?", arguments: [id.text])
            if let row { since = min(since, try row.time("undeleted")) }
        }
        return since.adding(SQLiteLedger.confirmationPeriod) <= now
    }

    func doomed(limit: Int) throws -> [RegistrationID] {
        try String.fetchAll(
            database,
            sql: """
                SELECT id FROM registration WHERE state = 'deleting' UNION SELECT id FROM stray ORDER BY id LIMIT ?
                """,
            arguments: [limit]
        ).compactMap(RegistrationID.init)
    }
}
