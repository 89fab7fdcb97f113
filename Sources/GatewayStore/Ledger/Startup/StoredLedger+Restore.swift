public import GatewayCore
public import GatewaySupport

/// The changes made to a ledger that was restored from a copy.
///
/// A restore of a store that several gateways share is complete once the journal of each of them was compared, which each
/// does at its start. The first one also ends the sessions.
public struct LedgerRestore: Sendable, Hashable {
    /// The number of sessions that were removed.
    public let endedSessions: Int
    /// The number of registrations marked for deletion because the copy is older than their last change.
    public let markedRegistrations: Int
    /// The machines of the gateways whose journals were not compared yet: the ledger may lack devices that they registered.
    public let uncompared: [String]
}

/// The work of a gateway at its start after the ledger was restored from a copy.
public struct PendingRestore: Sendable, Hashable {
    /// The latest time in the restored ledger, which lacks the changes that journals recorded after it.
    public let since: WallTime
    /// Whether no gateway has done anything about the restore yet.
    public let isFirst: Bool
}

extension StoredLedger {
    /// Returns what this gateway has to do about a restore; nil if there was none, or it has. Blocks; called at startup.
    public func pendingRestore() throws(LedgerUnavailable) -> PendingRestore? {
        try database.readTables { (tables: LedgerTables) in
            if try tables.pendingRestore() != nil {
                let latest = try tables.latestTime() ?? WallTime(seconds: 0)
                if tables.node == nil { return PendingRestore(since: latest, isFirst: true) }
                // One of several gateways may have lost a change that began before the latest one of another, and others
                // may have gone on before this one noticed the restore.
                let sign = try tables.property("restored-from").flatMap { Int64($0) } ?? .max
                let since = min(latest, WallTime(microseconds: sign)).adding(-Self.concurrency)
                return PendingRestore(since: since, isFirst: true)
            }
            guard let node = tables.node, let since = try tables.comparedSince() else { return nil }
            let compared = try tables.integer(sql: "SELECT compared FROM node WHERE instance = ?", arguments: [node])
            return compared == since.microseconds ? nil : PendingRestore(since: since, isFirst: false)
        }
    }

    /// Returns whether journals of other gateways were not compared with a restored store yet. Blocks; called at startup.
    public func awaitsJournals() throws(LedgerUnavailable) -> Bool {
        try database.readTables { (tables: LedgerTables) in try tables.comparedSince() != nil }
    }

    /// The longest time between the beginnings of changes whose commits come in the other order, in microseconds: that of a
    /// call, and what clocks differ.
    private static let concurrency: Int64 = 300_000_000

    /// Stores that the ledger was restored from a copy, as an operator knows. Blocks; called at startup.
    public func recordRestore(now: WallTime) throws(LedgerUnavailable) {
        try database.writeTables { (tables: LedgerTables) in try tables.recordRestore(isCopy: true, now: now) }
    }

    /// Updates a restored ledger from this gateway's journal in one transaction. Blocks; called at startup, before sessions are
    /// read.
    ///
    /// The first gateway removes all sessions, because the copy may contain sessions that were closed after it was made. Marks a
    /// registration for deletion at the backend if the journal shows that it was deleted or belongs to another user;
    /// its device then registers again.
    ///
    /// - Parameters:
    ///   - pending: The result of ``pendingRestore()``.
    ///   - sessionsBeingDeleted: Whether the first gateway removes sessions. False if the operator chose to keep them.
    ///   - journaled: The journal's changes since `pending.since`.
    public func complete(
        _ pending: PendingRestore, sessionsBeingDeleted: Bool, _ journaled: JournaledRegistrations
    ) throws(LedgerUnavailable) -> LedgerRestore {
        try database.writeTables { (tables: LedgerTables) in
            let ended = sessionsBeingDeleted && pending.isFirst ? try tables.deleteAllSessions() : 0
            for (user, at) in journaled.revoked {
                // A gateway that starts later than the first one finds users who have come back since.
                if pending.isFirst {
                    try tables.revoke(user, at: at)
                } else {
                    try tables.revokeGrants(of: user, upTo: at)
                }
            }
            var marked = 0
            for (id, change) in journaled.changes {
                if try tables.applyRestored(id, change.last, at: change.at) { marked += 1 }
            }
            if pending.isFirst {
                try tables.remove(property: "restored")
                try tables.remove(property: "restored-from")
                try tables.announce(.restored)
            }
            return LedgerRestore(
                endedSessions: ended, markedRegistrations: marked, uncompared: try tables.markCompared(pending))
        }
    }
}

extension LedgerTables {
    /// Applies the last change that the journal recorded for the registration.
    ///
    /// - Returns: Whether the registration was marked for deletion.
    fileprivate func applyRestored(
        _ id: RegistrationID, _ change: JournaledRegistrations.LastChange, at time: WallTime
    ) throws -> Bool {
        let row = try registration(id).flatMap { $0.isBound ? $0 : nil }
        // The device has registered since.
        if let row, row.lastSeen > time { return false }
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
