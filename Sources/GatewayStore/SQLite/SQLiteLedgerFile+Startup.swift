internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// The checks and marks at a start and at a stop.
extension SQLiteLedgerFile {
    /// Returns the path of the state file.
    static func stateFile(of file: String) -> String { file + ".state" }

    /// Returns whether the file is missing or has no bytes.
    static func isEmpty(_ file: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0 == 0
    }

    /// Throws if a ledger that was in use is empty or missing. Opening it as a new one would leave every device
    /// unbound, so that any user could register it.
    static func rejectLoss(of file: String, _ state: LedgerState?, version: Int) throws {
        guard version == 0, state != nil else { return }
        throw LedgerUnavailable(
            "\(file) is empty or was removed, but was in use; restore a backup (notify-gateway restore), or "
                + "remove \(keyFile(of: file)) and \(stateFile(of: file)) to start with an empty ledger")
    }

    /// Checks the file if the last gateway did not close it, and throws if it is damaged.
    static func rejectDamage(_ sqlite: SQLiteDatabase, _ state: LedgerState?) throws {
        guard state?.isClosed != true else { return }
        guard let damage = try sqlite.pool.read({ try LedgerCheck.damage(of: $0, .pages) }) else { return }
        throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: damage)
    }

    /// Converts an error of opening. For a damaged file the message includes the remedy.
    static func openingFailure(_ error: any Error, _ file: String) -> LedgerUnavailable {
        guard let damage = SQLiteMessage.damage(in: error) else { return LedgerUnavailable(ofSQLite: error) }
        return LedgerUnavailable(
            "\(file) is damaged: \(damage); restore a backup (notify-gateway restore --replace)")
    }

    /// Writes a new generation and the state "open". Marks the ledger as restored if it is an older copy.
    static func markOpen(_ sqlite: SQLiteDatabase, _ file: String, _ state: LedgerState?, now: WallTime) throws {
        let found = try sqlite.read { try LedgerTables($0).generation() }
        let isCopy = state.map { !$0.generations.isEmpty && !$0.generations.contains(found ?? "") } ?? false
        try renew(sqlite, file, from: found) { tables in
            try tables.recordRestore(isCopy: isCopy, now: now)
        }
    }

    /// Writes the generation of a closed ledger and empties the write-ahead log into the database file.
    static func markClosed(_ sqlite: SQLiteDatabase, _ file: String) throws -> LedgerState {
        let found = try sqlite.read { try LedgerTables($0).generation() }
        let state = try renew(sqlite, file, from: found) { _ in }
        try sqlite.emptyLog()
        return state
    }

    /// Writes the next generation. After a crash at any point, the ledger has a generation that its state file names.
    @discardableResult
    private static func renew(
        _ sqlite: SQLiteDatabase, _ file: String, from old: String?, _ more: (LedgerTables) throws -> Void
    ) throws -> LedgerState {
        let new = LedgerState.newGeneration()
        let path = stateFile(of: file)
        // A ledger of an earlier version has no generation. It must not be rejected after a crash before the first one
        // is written.
        if let old { try LedgerState(isClosed: false, generations: [old, new]).write(path) }
        try sqlite.write { transaction in
            try more(LedgerTables(transaction))
            try LedgerTables(transaction).store(generation: new)
        }
        let state = LedgerState(isClosed: false, generations: [new])
        try state.write(path)
        return state
    }
}
