public import GatewayCore
internal import GatewaySupport

/// The numbers of registrations in a ledger. Reads the file without locking the ledger, which a gateway may have open.
public enum LedgerRegistrations {
    /// Returns the number of live registrations that accounts of each authenticator made; none if the ledger does not exist
    /// or has another schema version. Writes nothing. Blocks.
    public static func counts(file: String) throws(LedgerUnavailable) -> [PluginName: Int] {
        let read = try LedgerCopy.read(file) { database -> [PluginName: Int] in
            // Older versions lack columns.
            guard try LedgerSchema.version(of: database) == LedgerSchema.version else { return [:] }
            return try LedgerTables(SQLiteTransaction(database)).registrationCounts()
        }
        return read ?? [:]
    }
}
