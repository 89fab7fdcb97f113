internal import Foundation
public import GatewayCore

extension SQLiteLedger {
    /// Copies the ledger to a new file, and its keys to files beside it, which the copy needs; with the texts of secure
    /// sends, their file and key too. All stay usable (SQLite's online backup).
    ///
    /// The copy is marked, so that a gateway that starts with it detects the restore. All files get mode 0600. Throws
    /// if one of them exists or cannot be written. A failed copy leaves no file with the final name. Runs on a separate
    /// thread, because reading the whole ledger takes a while.
    public func backup(to path: String, _ texts: SQLiteSecureTexts? = nil) async throws(LedgerUnavailable) {
        let result: Result<Void, LedgerUnavailable> = await withCheckedContinuation { continuation in
            let thread = Thread {
                let result = Result<Void, any Error> { try self.copy(to: path, texts) }
                continuation.resume(returning: result.mapError(LedgerUnavailable.init(describing:)))
            }
            thread.name = "backup"
            thread.start()
        }
        try result.get()
    }

    private func copy(to path: String, _ texts: SQLiteSecureTexts?) throws {
        let textsCopy = SQLiteSecureTexts.path(ofLedger: path)
        try texts?.copy(to: textsCopy)
        do {
            try copy(to: path)
        } catch {
            if texts != nil { SQLiteSecureTexts.removeCopy(at: textsCopy) }
            throw error
        }
    }
}
