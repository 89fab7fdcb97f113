internal import GRDB
public import GatewayCore

extension StoredCheckpoint {
    /// Reads the checkpoint from the ledger's file without locking the ledger, which a gateway may have open. Nil if
    /// the ledger does not exist or stores no checkpoint. Blocks; intended for commands.
    public init?(ledger file: String) throws(LedgerUnavailable) {
        let read = try LedgerCopy.read(file) { database -> StoredCheckpoint? in
            guard (5...LedgerSchema.version).contains(try LedgerSchema.version(of: database)) else { return nil }
            return try LedgerTables(SQLiteTransaction(database)).journalCheckpoint(of: SQLiteLedgerFile.journal)
        }
        guard let checkpoint = read ?? nil else { return nil }
        self = checkpoint
    }
}
