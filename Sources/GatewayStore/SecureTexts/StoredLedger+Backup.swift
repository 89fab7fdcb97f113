internal import Foundation
public import GatewayCore

extension StoredLedger {
    /// Copies the ledger to a new file, and its keys to files beside it, which the copy needs; with the texts of secure
    /// sends, their file and key too. All stay usable.
    ///
    /// The copy is marked, so that a gateway that starts with it detects the restore. All files get mode 0600. Throws
    /// if one of them exists or cannot be written. A failed copy leaves no file with the final name. Runs on a separate
    /// thread, because reading the whole ledger takes a while.
    public func backup(to path: String, _ texts: StoredSecureTexts? = nil) async throws(LedgerUnavailable) {
        let result: Result<Void, LedgerUnavailable> = await withCheckedContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    returning: Result { () throws(LedgerUnavailable) in try self.copy(to: path, texts) })
            }
            thread.name = "backup"
            thread.start()
        }
        try result.get()
    }

    private func copy(to path: String, _ texts: StoredSecureTexts?) throws(LedgerUnavailable) {
        try texts?.storage.copy(besideLedger: path)
        do {
            try storage.copy(to: path)
        } catch {
            texts?.storage.removeCopy(besideLedger: path)
            throw error
        }
    }
}
