internal import GRDB
public import GatewayCore

/// What was done with a ledger that had been restored from a copy.
public struct LedgerRestore: Sendable, Hashable {
    /// How many sessions were ended.
    public let endedSessions: Int
    /// How many registrations are deleted at the backend, since the copy is older than what was done with them.
    public let markedRegistrations: Int
}

extension SQLiteLedger {
    /// Whether the ledger was restored from a copy, and nothing has been done about that yet. Blocks; called at start.
    public func isRestored() throws(LedgerUnavailable) -> Bool {
        do { return try database.read { try LedgerTables($0).pendingRestore() } != nil } catch {
            throw .init(describing: error)
        }
    }

    /// The latest time that the ledger knows of; the journal is of interest from then on. Blocks; called at start.
    public func latestTime() throws(LedgerUnavailable) -> WallTime? {
        do { return try database.read { try LedgerTables($0).latestTime() } } catch { throw .init(describing: error) }
    }

    /// Brings a restored ledger up to date, as far as is known, in one transaction. Blocks; called at start, before sessions are
    /// read.
    ///
    /// Sessions that were ended after the copy was made must not come back, and which these are the copy cannot know: all are
    /// ended. A registration that the journal says was deleted, or was made for another user, is deleted at the backend; its
    /// device registers again.
    ///
    /// - Parameters:
    ///   - endingSessions: false where an operator wants them kept.
    ///   - journaled: what the journal has since `latestTime()`.
    public func settleRestore(
        endingSessions: Bool, _ journaled: JournaledRegistrations
    ) throws(LedgerUnavailable) -> LedgerRestore {
        do {
            return try database.write { database in
                let tables = LedgerTables(database)
                let ended = endingSessions ? try tables.endAllSessions() : 0
                for (user, at) in journaled.revoked { try tables.revoke(user, at: at) }
                var marked = 0
                for (id, change) in journaled.changes {
                    if try tables.settleRestored(id, change) { marked += 1 }
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
    /// - Returns: whether the registration is deleted at the backend from now on.
    fileprivate func settleRestored(
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
            // Made after the copy: nobody would find it where its user is revoked.
            try execute(
                sql: "INSERT OR IGNORE INTO stray (id, service, handle, reason) VALUES (?, NULL, NULL, ?)",
                arguments: [id.text, SweepReason.restored.rawValue])
        case (.deleted, nil):
            return false
        }
        return true
    }
}
