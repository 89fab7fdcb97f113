internal import Foundation
internal import GRDB
internal import GatewayCore

extension SQLiteLedger {
    /// Where it is kept whether the ledger was closed, and its generation.
    static func stateFile(of file: String) -> String { file + ".state" }

    /// Refuses a ledger that was in use and is empty or gone: opened as a new one, it would have every device be anybody's.
    static func refuseLoss(of file: String, _ state: LedgerState?, version: Int) throws {
        guard version == 0, state != nil else { return }
        throw LedgerUnavailable(
            "\(file) is empty or was removed, but was in use; restore it from a copy that \"ledger backup\" made, or "
                + "remove \(keyFile(of: file)) and \(stateFile(of: file)) to begin with nothing")
    }

    /// Looks through the file where the last gateway did not close it.
    static func refuseDamage(_ database: DatabasePool, _ state: LedgerState?) throws {
        guard state?.isClosed != true else { return }
        guard let damage = try database.read({ try LedgerCheck.damage(of: $0, .pages) }) else { return }
        throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: damage)
    }

    /// An error of opening, with what to do where the file is damaged.
    static func openingFailure(_ error: any Error, _ file: String) -> LedgerUnavailable {
        guard let damage = LedgerHealth.damage(in: error) else { return LedgerUnavailable(describing: error) }
        return LedgerUnavailable(
            "\(file) is damaged: \(damage); restore it from a copy that \"ledger backup\" made")
    }

    /// Notes that the ledger is in use from now on, under a new generation, and whether it is an older copy of itself.
    static func begin(_ database: DatabasePool, _ file: String, _ state: LedgerState?, now: WallTime) throws {
        let found = try database.read { try LedgerTables($0).generation() }
        let isCopy = state.map { !$0.generations.isEmpty && !$0.generations.contains(found ?? "") } ?? false
        try renew(database, file, from: found) { tables in
            try tables.noteRestore(isCopy: isCopy, now: now)
        }
    }

    /// Gives the ledger the generation that it is closed with, and brings all of it into its one file.
    ///
    /// GRDB closes the readers after the writer, and SQLite does not empty the log when a reader closes last. A log that stayed would
    /// be applied to a copy that is put in the file's place, and whoever copied the file alone would lack what is in the log.
    static func end(_ database: DatabasePool, _ file: String) throws -> LedgerState {
        let found = try database.read { try LedgerTables($0).generation() }
        let state = try renew(database, file, from: found) { _ in }
        try database.barrierWriteWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        return state
    }

    /// Gives the ledger its next generation. A crash at any point leaves it with one that its state file names.
    @discardableResult
    private static func renew(
        _ database: DatabasePool, _ file: String, from old: String?, _ more: (LedgerTables) throws -> Void
    ) throws -> LedgerState {
        let new = LedgerState.newGeneration()
        let path = stateFile(of: file)
        // A ledger of an earlier version has none; it is not refused where a crash comes before it has.
        if let old { try LedgerState(isClosed: false, generations: [old, new]).write(path) }
        try database.write { database in
            try more(LedgerTables(database))
            try LedgerTables(database).put(generation: new)
        }
        let state = LedgerState(isClosed: false, generations: [new])
        try state.write(path)
        return state
    }
}
