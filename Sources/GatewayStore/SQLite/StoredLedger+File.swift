internal import Foundation
internal import GRDB
public import GatewayCore
public import GatewaySupport

/// A ledger in an SQLite file.
extension StoredLedger {
    /// Opens the ledger in a file, or creates a new one. Blocks; called at startup. ``SQLiteLedgerFile`` lists the errors.
    ///
    /// - Parameter proofLifetime: How long a commit proves that the next one will succeed, so that the backend may be
    ///   called.
    public convenience init(
        file: String, limits: Limits = Limits(), now: WallTime = Clocks.system.wall(),
        proofLifetime: Duration = .seconds(1)
    ) throws(LedgerUnavailable) {
        let storage = try SQLiteLedgerFile(file, now: now)
        self.init(storage, digester: storage.digester, limits: limits, proofLifetime: proofLifetime)
    }

    /// Returns the state of the migration in a ledger file that another process may have open. Blocks.
    ///
    /// - Returns: `notImported` also if the ledger does not exist.
    public static func migration(inFile file: String) throws(LedgerUnavailable) -> MigrationState {
        try LedgerCopy.read(file) { database in
            let version = try LedgerSchema.version(of: database)
            guard version >= 3 else { return MigrationState.notImported }
            return try LedgerTables(SQLiteTransaction(database)).migration(hasUnconfirmed: version >= 5)
        } ?? .notImported
    }

    /// Checks every page and row format of a ledger file, but not its indexes. Another process may have the file open.
    /// Blocks.
    ///
    /// - Returns: A description of the damage; nil if there is no damage or no such file.
    public static func damage(inFile file: String) throws(LedgerUnavailable) -> String? {
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        // A ledger that is not open is read from a copy, because SQLite would create files beside it.
        let copy = LedgerCopy.isOpen(file) ? nil : try LedgerCopy(of: file)
        defer { copy?.remove() }
        do {
            return try LedgerCheck(file: copy?.file ?? file, depth: .pages).run()
        } catch {
            throw .init(ofSQLite: error)
        }
    }
}
