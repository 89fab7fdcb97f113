public import GatewayCore
public import GatewaySupport

/// The changes made to a ledger that was restored from a copy.
public struct LedgerRestore: Sendable, Hashable {
    /// The number of sessions that were removed.
    public let endedSessions: Int
    /// The number of registrations marked for deletion because the copy is older than their last change.
    public let markedRegistrations: Int
}

extension StoredLedger {
    /// Returns whether the ledger was restored from a copy and ``completeRestore(sessionsBeingDeleted:_:)`` has not run
    /// since. Blocks; called at startup.
    public func isRestored() throws(LedgerUnavailable) -> Bool {
        try database.readTables { (tables: LedgerTables) in try tables.pendingRestore() } != nil
    }

    /// Stores that the ledger was restored from a copy, as an operator knows. Blocks; called at startup.
    public func recordRestore(now: WallTime) throws(LedgerUnavailable) {
        try database.writeTables { (tables: LedgerTables) in try tables.recordRestore(isCopy: true, now: now) }
    }

    /// Returns the latest time in the ledger. The restored ledger lacks the changes that the journal recorded after it.
    /// Blocks; called at startup.
    public func latestTime() throws(LedgerUnavailable) -> WallTime? {
        try database.readTables { (tables: LedgerTables) in try tables.latestTime() }
    }

    /// Updates a restored ledger from the journal in one transaction. Blocks; called at startup, before sessions are
    /// read.
    ///
    /// Removes all sessions, because the copy may contain sessions that were closed after it was made. Marks a
    /// registration for deletion at the backend if the journal shows that it was deleted or belongs to another user;
    /// its device then registers again.
    ///
    /// - Parameters:
    ///   - sessionsBeingDeleted: Whether sessions are removed. False if the operator chose to keep them.
    ///   - journaled: The journal's changes since `latestTime()`.
    public func completeRestore(
        sessionsBeingDeleted: Bool, _ journaled: JournaledRegistrations
    ) throws(LedgerUnavailable) -> LedgerRestore {
        try database.writeTables { (tables: LedgerTables) in
            let ended = sessionsBeingDeleted ? try tables.deleteAllSessions() : 0
            for (user, at) in journaled.revoked { try tables.revoke(user, at: at) }
            var marked = 0
            for (id, change) in journaled.changes {
                if try tables.applyRestored(id, change) { marked += 1 }
            }
            try tables.remove(property: "restored")
            try tables.announce(.restored)
            return LedgerRestore(endedSessions: ended, markedRegistrations: marked)
        }
    }
}

extension LedgerTables {
    /// Applies the last change that the journal recorded for the registration.
    ///
    /// - Returns: Whether the registration was marked for deletion.
    fileprivate func applyRestored(
        _ id: RegistrationID, _ change: JournaledRegistrations.LastChange
    ) throws -> Bool {
        let row = try registration(id).flatMap { $0.isBound ? $0 : nil }
        switch (change, row) {
        case (.registered(let user), let row?) where row.owner == user:
            return false
        case (_, let found?):
            var row = found
            row.state = .deleting
            row.reason = .restored
            try store(row)
        case (.registered, nil):
            // The registration was made after the copy. Without a row, a revocation of its owner would not delete it.
            try execute(
                sql: """
                    INSERT INTO stray (id, service, handle, reason) VALUES (?, NULL, NULL, ?)
                    ON CONFLICT (id) DO NOTHING
                    """,
                arguments: [id.text, SweepReason.restored.rawValue])
        case (.deleted, nil):
            return false
        }
        return true
    }
}

/// Statements on generations, copies and restores.
extension LedgerTables {
    /// Returns the value of a property of the ledger; nil if it is not set.
    func property(_ name: String) throws -> String? {
        try firstRow(sql: "SELECT value FROM property WHERE name = ?", arguments: [name])
            .flatMap { String(validating: try $0.required("value", as: [UInt8].self), as: UTF8.self) }
    }

    /// Sets a property of the ledger.
    func store(property name: String, _ value: String) throws {
        try execute(
            sql: """
                INSERT INTO property (name, value) VALUES (?, ?)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value
                """,
            arguments: [name, Array(value.utf8)])
    }

    /// Removes a property of the ledger.
    func remove(property name: String) throws {
        try execute(sql: "DELETE FROM property WHERE name = ?", arguments: [name])
    }

    /// Returns the generation; nil in a ledger of an earlier version. See ``LedgerState``.
    func generation() throws -> String? { try property("generation") }

    /// Stores the generation.
    func store(generation: String) throws { try store(property: "generation", generation) }

    /// Marks the database as a backup copy. A gateway that starts with the copy detects the mark as a restore.
    func recordBackup(_ now: WallTime) throws { try store(property: "copied", "\(now)") }

    /// Stores that the ledger was restored from a copy, until `completeRestore` has run.
    ///
    /// - Parameter isCopy: Whether the generation shows that it is a copy. If false, the mark of `recordBackup` decides.
    func recordRestore(isCopy: Bool, now: WallTime) throws {
        let isMarked = try property("copied") != nil
        guard isCopy || isMarked else { return }
        try store(property: "restored", "\(now)")
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
        try integer(
            sql: """
                SELECT max(latest) FROM (
                    SELECT max(last_seen) AS latest FROM registration UNION ALL SELECT max(renewed) FROM session
                    UNION ALL SELECT max(at) FROM revoked_user) AS times
                """
        ).map(WallTime.init(microseconds:))
    }

    /// Removes every session.
    ///
    /// - Returns: The number of sessions removed.
    func deleteAllSessions() throws -> Int {
        try execute(sql: "DELETE FROM session")
    }
}
