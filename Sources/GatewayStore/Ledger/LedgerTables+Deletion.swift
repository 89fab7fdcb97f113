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
    func recordUnansweredDeletion(_ id: RegistrationID, now: WallTime) throws {
        for table in ["registration", "stray"] {
            try execute(
                sql: "UPDATE \(table) SET undeleted = ? WHERE id = ? AND undeleted IS NULL",
                arguments: [now.microseconds, id.text])
        }
    }

    /// Returns whether a deletion that was sent to the backend and not confirmed may still remove what is registered under
    /// the id.
    func mayBeDeletedLate(_ id: RegistrationID) throws -> Bool {
        try firstRow(
            sql: """
                SELECT 1 FROM registration WHERE id = ? AND state = 'deleting' AND undeleted IS NOT NULL
                UNION ALL SELECT 1 FROM stray WHERE id = ? AND undeleted IS NOT NULL
                """,
            arguments: [id.text, id.text]) != nil
    }

    /// Stores the time since which the backend has not confirmed the deletion, unless it is stored already.
    ///
    /// - Returns: Whether that time is at least `confirmationPeriod` ago.
    func recordUnconfirmedDeletion(_ id: RegistrationID, now: WallTime) throws -> Bool {
        try recordUnansweredDeletion(id, now: now)
        var since = now
        for table in ["registration", "stray"] {
            let row = try firstRow(sql: "SELECT undeleted FROM \(table) WHERE id = ?", arguments: [id.text])
            if let row { since = min(since, try row.time("undeleted")) }
        }
        return since.adding(StoredLedger.confirmationPeriod) <= now
    }

    /// Returns at most `limit` registrations that are marked for deletion or have no owner: first those of revoked owners,
    /// then the others. Within each group the owners take turns, so that nobody waits for another's many deletions. Of
    /// each group, the 4,096 beyond the limit with the smallest ids are ordered, so that those that the caller waits with do
    /// not stand before all others.
    func markedForDeletion(limit: Int) throws -> [MarkedRegistration] {
        let considered = 4096 + limit
        return try rows(
            sql: """
                WITH marked AS (
                    SELECT id, owner, reason FROM registration WHERE state = 'deleting'
                    UNION ALL
                    SELECT id, owner, reason FROM stray
                        WHERE id NOT IN (SELECT id FROM registration WHERE state = 'deleting')),
                considered AS (
                    SELECT id, owner, 0 AS rank FROM (
                        SELECT id, owner FROM marked WHERE reason = 'revoked' ORDER BY id LIMIT ?) AS revoked
                    UNION ALL
                    SELECT id, owner, 1 AS rank FROM (
                        SELECT id, owner FROM marked WHERE COALESCE(reason, '') <> 'revoked' ORDER BY id LIMIT ?
                    ) AS others),
                turns AS (
                    SELECT id, rank, row_number() OVER (PARTITION BY rank, owner ORDER BY id) AS turn FROM considered)
                SELECT id, rank FROM turns ORDER BY rank, turn, id LIMIT ?
                """,
            arguments: [considered, considered, limit]
        ).compactMap { row in
            let isRevoked = try row.required("rank", as: Int.self) == 0
            return RegistrationID(try row.required("id", as: String.self)).map {
                MarkedRegistration(id: $0, isRevoked: isRevoked)
            }
        }
    }
}
