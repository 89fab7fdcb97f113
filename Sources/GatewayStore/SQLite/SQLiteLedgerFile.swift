internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// A ledger in an SQLite file, with its key, its lock and its state in files beside it.
///
/// One process at a time may open the file.
final class SQLiteLedgerFile: LedgerStorage {
    var database: any SQLDatabase { sqlite }
    /// A file belongs to one journal.
    var journal: any SQLValueConvertible { Self.journal }
    static let journal = 1
    /// Derives the keys of the handles with the secret beside the file.
    let digester: HandleDigester
    let path: String
    let sqlite: SQLiteDatabase
    private let lock: LockFile

    /// Opens the file, or creates a new one. Blocks; called at startup.
    ///
    /// A new file gets mode 0600, and missing directories get 0700. Throws if the file is accessible to others, is not a
    /// ledger, has a newer version, lacks its key, is in use by another process, or is damaged after an unclean
    /// shutdown. Throws if a ledger that existed before is missing or empty.
    init(_ path: String, now: WallTime) throws(LedgerUnavailable) {
        do {
            try PrivateFiles.makeDirectory(PrivateFiles.parent(of: path))
            lock = try LockFile(path + ".lock")
            try RestoreMark.rejectInterrupted(ofLedger: path)
            let state = try LedgerState.read(Self.stateFile(of: path))
            // Before SQLite makes an empty file one with content, which a restore could not tell from data.
            if Self.isEmpty(path) { try Self.rejectLoss(of: path, state, version: 0) }
            try PrivateFiles.makeFile(path)
            // Readers: one for calls, and two for long reads.
            sqlite = try SQLiteDatabase(file: path, label: "ledger", readers: 3)
            let version = try sqlite.pool.read { try LedgerSchema.version(of: $0) }
            guard version <= LedgerSchema.version else { throw LedgerSchema.tooNew(version) }
            try Self.rejectLoss(of: path, state, version: version)
            try Self.rejectDamage(sqlite, state)
            digester = try HandleDigester(keyFile: Self.keyFile(of: path), mayCreate: version == 0)
            let fingerprint = try digester.fingerprint()
            if version > 0, version < LedgerSchema.version {
                try Self.keepOldVersion(sqlite, at: "\(path).version-\(version)")
            }
            try sqlite.makeDurable()
            try sqlite.pool.write { try LedgerSchema.prepare($0, fingerprint: fingerprint, now: now) }
            try Self.markOpen(sqlite, path, state, now: now)
        } catch {
            throw Self.openingFailure(error, path)
        }
        self.path = path
    }

    /// Returns the path of the key of a ledger's handles.
    static func keyFile(of file: String) -> String { file + ".key" }

    /// Waits for running operations, closes the file and releases the lock.
    func close(isUsable: Bool) throws(LedgerUnavailable) {
        // If this fails, the ledger counts as not closed and the next start checks it.
        let state = isUsable ? try? Self.markClosed(sqlite, path) : nil
        do { try sqlite.close() } catch { throw LedgerUnavailable(ofSQLite: error) }
        if var state {
            state.isClosed = true
            try? state.write(Self.stateFile(of: path))
        }
        lock.release()
    }

    /// Reads the whole file and compares tables with their indexes, on a separate connection and thread.
    func checkIntegrity() async throws(LedgerUnavailable) -> String? {
        let check = LedgerCheck(file: path, depth: .whole)
        let result: Result<String?, LedgerUnavailable> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let thread = Thread {
                    continuation.resume(
                        returning: Result { try check.run() }.mapError(LedgerUnavailable.init(ofSQLite:)))
                }
                thread.name = "ledger-check"
                thread.start()
            }
        } onCancel: {
            check.cancel()
        }
        return try result.get()
    }

    /// Copies the ledger before a migration, so that an earlier version can still read it.
    private static func keepOldVersion(_ sqlite: SQLiteDatabase, at path: String) throws {
        let part = path + ".part"
        try PrivateFiles.makeFile(part)
        try sqlite.copy(to: part)
        try PrivateFiles.rename(part, to: path)
    }
}
