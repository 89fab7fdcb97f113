internal import GRDB
public import GatewayCore
public import GatewaySupport

/// The changes made to a ledger that was restored from a copy.
public struct LedgerRestore: Sendable, Hashable {
    /// The number of sessions that were removed.
    public let endedSessions: Int
    /// The number of registrations marked for deletion because the copy is older than their last change.
    public let markedRegistrations: Int
}

extension SQLiteLedger {
    /// Returns whether the ledger was restored from a copy and ``completeRestore(endingSessions:_:)`` has not run
    /// since. Blocks; called at startup.
    public func isRestored() throws(LedgerUnavailable) -> Bool {
        do { return try database.read { try LedgerTables($0).pendingRestore() } != nil } catch {
            throw .init(describing: error)
        }
    }

    /// Returns the latest time in the ledger. The restored ledger lacks the changes that the journal recorded after it.
    /// Blocks; called at startup.
    public func latestTime() throws(LedgerUnavailable) -> WallTime? {
        do { return try database.read { try LedgerTables($0).latestTime() } } catch { throw .init(describing: error) }
    }

    /// Updates a restored ledger from the journal in one transaction. Blocks; called at startup, before sessions are
    /// read.
    ///
    /// Removes all sessions, because the copy may contain sessions that were closed after it was made. Marks a
    /// registration for deletion at the backend if the journal shows that it was deleted or belongs to another user;
    /// its device then registers again.
    ///
    /// - Parameters:
    ///   - endingSessions: Whether sessions are removed. False if the operator chose to keep them.
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
            try put(row)
        case (.registered, nil):
            // The registration was made after the copy. Without a row, a revocation of its owner would not delete it.
            try execute(
                sql: "INSERT OR IGNORE INTO stray (id, service, handle, reason) VALUES (?, NULL, NULL, ?)",
                arguments: [id.text, SweepReason.restored.rawValue])
        case (.deleted, nil):
            return false
        }
        return true
    }
}
