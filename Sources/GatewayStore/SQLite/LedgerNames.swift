internal import GRDB
public import GatewayCore

/// The user names of the owners in a ledger, and the rules that formed these names. Reads the file without locking the
/// ledger, which a gateway may have open.
public struct LedgerNames: Sendable, Hashable {
    /// The stored form of the rules that formed the names; nil if none is stored.
    public let rules: String?
    /// The owners of registrations, sorted.
    public let owners: [UserName]

    /// Reads the names; nil if the ledger does not exist or has an unknown schema version. Writes nothing. Blocks.
    public init?(file: String) throws(LedgerUnavailable) {
        let read = try LedgerCopy.read(file) { database -> (String?, [UserName])? in
            guard (1...LedgerSchema.version).contains(try LedgerSchema.version(of: database)) else { return nil }
            let tables = LedgerTables(SQLiteTransaction(database))
            return (try tables.nameRules(), try tables.owners())
        }
        guard let names = read ?? nil else { return nil }
        (rules, owners) = names
    }
}
