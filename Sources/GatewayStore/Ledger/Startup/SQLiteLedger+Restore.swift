internal import GRDB
public import GatewayCore

/// The changes made to a ledger that was restored from a copy.
public struct LedgerRestore: Sendable, Hashable {
    /// The number of sessions that were ended.
    public let endedSessions: Int
    /// The number of registrations marked for deletion because the copy is older than their last change.
    public let markedRegistrations: Int
}

extension SQLiteLedger {
    /// Returns whether the ledger was restored from a copy and the restore was not processed yet. Blocks; called at the
    /// start.
    public func isRestored() throws(LedgerUnavailable) -> Bool {
        do { return try database.read { try LedgerTables($0).pendingRestore() } != nil } catch {
            throw .init(describing: error)
        }
    }

    /// Returns the latest time in the ledger, from which on the journal must be read. Blocks; called at the start.
    public func latestTime() throws(LedgerUnavailable) -> WallTime? {
        do { return try database.read { try LedgerTables($0).latestTime() } } catch { throw .init(describing: error) }
    }

    /// Updates a restored ledger from the journal in one transaction. Blocks; called at the start, before sessions are
    /// read.
    ///
    /// All sessions are ended, because the copy does not contain the sessions' later ends. A registration that
    /// according to the journal was deleted or belongs to another user is marked for deletion at the backend; its
    /// device registers again.
    ///
    /// - Parameters:
    ///   - endingSessions: False where the operator keeps the sessions.
    ///   - journaled: The journal's changes since `latestTime()`.
    public func completeRestore(
        endingSessions: Bool, _ journaled: JournaledRegistrations
    ) throws(LedgerUnavailable) -> LedgerRestore {
        do {
            return try database.write { database in
                let tables = LedgerTables(database)
                let ended = endingSessions ? try tables.endAllSessions() : 0
                for (user, at) in journaled.revoked { try tables.revoke(user, at: at) }
                var marked = 0
                for (id, change) in journaled.changes {
                    if try tables.applyRestored(id, change) { marked += 1 }
                }
                try tables.remove(property: "restored")
                return LedgerRestore(endedSessions: ended, markedRegistrations: marked)
            }
        } catch {
            throw .init(describing: error)
        }
    }
}

extension LedgerTables {
    /// Applies the last change of a registration in the journal.
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
            try put(row)
        case (.registered, nil):
            // The registration was made after the copy. Without a row, a revocation of its user would not find it.
            try execute(
                sql: "INSERT OR IGNORE INTO stray (id, service, handle, reason) VALUES (?, NULL, NULL, ?)",
                arguments: [id.text, SweepReason.restored.rawValue])
        case (.deleted, nil):
            return false
        }
        return true
    }
}
