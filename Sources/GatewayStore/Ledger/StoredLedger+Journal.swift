public import GatewayCore
internal import GatewaySupport

// The journal's checkpoint in the ledger.
extension StoredLedger: JournalCheckpointStore {
    /// Returns the journal's last checkpoint; nil if none is stored. Blocks.
    public func journalCheckpoint() throws(LedgerUnavailable) -> StoredCheckpoint? {
        try database.readTables { (tables: LedgerTables) in try tables.journalCheckpoint() }
    }

    /// Stores the checkpoint and replaces the previous one. Blocks; must not be called on an event loop.
    public func store(_ checkpoint: StoredCheckpoint) throws(LedgerUnavailable) {
        try database.writeTables { (tables: LedgerTables) in try tables.store(checkpoint) }
    }
}

extension LedgerTables {
    /// Returns the journal's last checkpoint; nil if none is stored.
    func journalCheckpoint() throws -> StoredCheckpoint? {
        guard let row = try firstRow(sql: "SELECT number, hash, at FROM journal_checkpoint") else { return nil }
        guard let number = UInt64(exactly: try row.required("number", as: Int64.self)),
            let hash = SHA256.Digest(try row.required("hash", as: [UInt8].self))
        else { throw LedgerUnavailable("the ledger contains an invalid journal checkpoint") }
        let time = WallTime(microseconds: try row.required("at", as: Int64.self))
        return StoredCheckpoint(number: number, hash: hash, time: time)
    }

    /// Stores the checkpoint and replaces the previous one.
    func store(_ checkpoint: StoredCheckpoint) throws {
        try execute(
            sql: """
                INSERT INTO journal_checkpoint (id, number, hash, at) VALUES (1, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET number = excluded.number, hash = excluded.hash, at = excluded.at
                """,
            arguments: [
                Int64(clamping: checkpoint.number), checkpoint.hash.bytes, checkpoint.time.microseconds,
            ])
    }
}
