internal import GatewayCore
internal import GatewaySupport

/// SQL statements for transfers of devices from one user to another. In the schema and the manuals: hand-overs.
extension LedgerTables {
    /// Returns the number of transfers of the handle after the time.
    func ownershipTransferCount(of handle: HandleKey, after time: WallTime) throws -> Int {
        try count(
            sql: "SELECT count(*) FROM hand_over WHERE service = ? AND handle = ? AND at > ?",
            arguments: [handle.service.rawValue, handle.digest.bytes, time.microseconds])
    }

    /// Returns whether the user may take over the handle: it has done so fewer than `limit` times since `time`, or is
    /// the original owner. The limit applies to each new owner separately, so that no user can use up another's limit.
    /// The owner before the first transfer may always take the handle back.
    func mayTakeOver(_ handle: HandleKey, by user: UserName, limit: Int, since time: WallTime) throws -> Bool {
        let count = try count(
            sql: "SELECT count(*) FROM hand_over WHERE service = ? AND handle = ? AND owner = ? AND at > ?",
            arguments: [handle.service.rawValue, handle.digest.bytes, user.text, time.microseconds])
        if count < limit { return true }
        return try originalOwner(of: handle, after: time) == user.text
    }

    /// Records a transfer with the original owner of its series, and deletes expired transfers.
    func recordOwnershipTransfer(
        of handle: HandleKey, from former: UserName, to owner: UserName, now: WallTime, forgetting time: WallTime
    ) throws {
        // In a series of transfers with less than 24 hours between any two, the original owner stays the same.
        let original = try originalOwner(of: handle, after: time) ?? former.text
        try execute(
            sql: "INSERT INTO hand_over (service, handle, at, owner, former) VALUES (?, ?, ?, ?, ?)",
            arguments: [
                handle.service.rawValue, handle.digest.bytes, now.microseconds, owner.text, original,
            ])
        try execute(sql: "DELETE FROM hand_over WHERE at <= ?", arguments: [time.microseconds])
    }

    /// Returns the original owner: the one before the first transfer of the present series. Nil if there was no
    /// transfer since the time, or if that owner was revoked.
    private func originalOwner(of handle: HandleKey, after time: WallTime) throws -> String? {
        // Transfers of one series have the same original owner, NULL if that owner was revoked. If a new series began at
        // the time of the last transfer of another one, that one's owner is NULL.
        let last = try firstRow(
            sql: """
                SELECT former FROM hand_over WHERE service = ? AND handle = ? AND at > ?
                ORDER BY at DESC, CASE WHEN former IS NULL THEN 1 ELSE 0 END LIMIT 1
                """,
            arguments: [handle.service.rawValue, handle.digest.bytes, time.microseconds])
        return try last?.optional("former", as: String.self)
    }
}
