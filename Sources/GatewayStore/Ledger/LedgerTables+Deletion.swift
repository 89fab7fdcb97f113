internal import GatewayCore
internal import GatewaySupport

/// Statements on registrations that are marked for deletion at the backend.
extension LedgerTables {
    /// Marks a live registration for deletion.
    ///
    /// - Returns: Whether a live registration with the id existed.
    @discardableResult
    func markForDeletion(_ id: RegistrationID, because reason: SweepReason) throws -> Bool {
        try execute(
            sql: "UPDATE registration SET state = 'deleting', reason = ? WHERE id = ? AND state = 'live'",
            arguments: [reason.rawValue, id.text]) > 0
    }

    /// Marks the user's live registrations for deletion, except the `count` most recently seen ones.
    func limitRegistrations(_ count: Int, of user: UserName) throws {
        // The count needs only an index; the rows are read only if some must be marked.
        let live = try self.count(
            sql: "SELECT count(*) FROM registration WHERE owner = ? AND state = 'live'", arguments: [user.text])
        guard live > count else { return }
        try execute(
            sql: """
                UPDATE registration SET state = 'deleting', reason = 'surplus' WHERE id IN (
                    SELECT id FROM registration WHERE owner = ? AND state = 'live'
                    ORDER BY last_seen DESC, created DESC, id DESC LIMIT \(Self.unlimited) OFFSET ?)
                """,
            arguments: [user.text, count])
    }

    /// Stores the time since which the backend has not confirmed the deletion, unless it is stored already.
    ///
    /// - Returns: Whether that time is at least `confirmationPeriod` ago.
    func recordUnconfirmedDeletion(_ id: RegistrationID, now: WallTime) throws -> Bool {
        var since = now
        for table in ["registration", "stray"] {
            try execute(
                sql: "UPDATE \(table) SET undeleted = ? WHERE id = ? AND undeleted IS NULL",
                arguments: [now.microseconds, id.text])
            let row = try firstRow(sql: "SELECT undeleted FROM \(table) WHERE id = ?", arguments: [id.text])
            if let row { since = min(since, try row.time("undeleted")) }
        }
        return since.adding(StoredLedger.confirmationPeriod) <= now
    }

    /// Returns at most `limit` registrations that are marked for deletion or have no owner, in the order of their ids.
    func pendingDeletion(limit: Int) throws -> [RegistrationID] {
        try rows(
            sql: """
                SELECT id FROM registration WHERE state = 'deleting' UNION SELECT id FROM stray ORDER BY id LIMIT ?
                """,
            arguments: [limit]
        ).compactMap { RegistrationID(try $0.required("id", as: String.self)) }
    }
}
