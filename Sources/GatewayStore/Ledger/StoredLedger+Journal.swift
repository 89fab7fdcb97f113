public import GatewayCore
internal import GatewaySupport

// The journal's checkpoint in the ledger.
extension StoredLedger: JournalCheckpointStore {
    /// Returns the journal's last checkpoint; nil if none is stored. Blocks.
    public func journalCheckpoint() throws(LedgerUnavailable) -> StoredCheckpoint? {
        try database.readTables { (tables: LedgerTables) in try tables.journalCheckpoint(of: storage.journal) }
    }

    /// Stores the checkpoint and replaces the previous one. Blocks; must not be called on an event loop.
    public func store(_ checkpoint: StoredCheckpoint) throws(LedgerUnavailable) {
        try database.writeTables { (tables: LedgerTables) in try tables.store(checkpoint, of: storage.journal) }
    }
}

extension LedgerTables {
    /// Returns the last checkpoint of a journal; nil if none is stored.
    func journalCheckpoint(of journal: any SQLValueConvertible) throws -> StoredCheckpoint? {
        guard
            let row = try firstRow(
                sql: "SELECT number, hash, at FROM journal_checkpoint WHERE id = ?", arguments: [journal])
        else { return nil }
        guard let number = LineNumber(row: try row.required("number", as: Int64.self)),
            let hash = SHA256.Digest(try row.required("hash", as: [UInt8].self))
        else { throw LedgerUnavailable("the ledger contains an invalid journal checkpoint") }
        let time = WallTime(microseconds: try row.required("at", as: Int64.self))
        return StoredCheckpoint(number: number.value, hash: hash, time: time)
    }

    /// Stores the checkpoint of a journal and replaces the previous one.
    func store(_ checkpoint: StoredCheckpoint, of journal: any SQLValueConvertible) throws {
        try execute(
            sql: """
                INSERT INTO journal_checkpoint (id, number, hash, at) VALUES (?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET number = excluded.number, hash = excluded.hash, at = excluded.at
                """,
            arguments: [
                journal, Int64(clamping: checkpoint.number), checkpoint.hash.bytes, checkpoint.time.microseconds,
            ])
    }
}
