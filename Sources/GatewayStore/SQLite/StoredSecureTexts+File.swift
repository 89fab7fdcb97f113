internal import Foundation
public import GatewayCore
internal import GatewaySupport

/// Texts in an SQLite file.
extension StoredSecureTexts {
    /// Opens the file and its key, or creates them. Blocks; called at startup.
    ///
    /// Texts that were sealed under another key stay until they expire, and are not found.
    public convenience init(
        file: String, bounds: Bounds = Bounds(),
        randomness: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    ) throws(LedgerUnavailable) {
        do {
            let storage = try SQLiteSecureTextFile(file)
            try self.init(storage, cipher: storage.cipher, bounds: bounds, randomness: randomness)
        } catch {
            throw LedgerUnavailable("secure notifications: \(LedgerUnavailable(ofSQLite: error).detail) (\(file))")
        }
    }

    /// Returns the path of the texts' file beside the ledger.
    public static func path(ofLedger file: String) -> String { SQLiteSecureTextFile.path(ofLedger: file) }

    /// Returns whether there is a file of texts.
    public static func exists(_ file: String) -> Bool { FileManager.default.fileExists(atPath: file) }

    /// Returns the message about texts that were sealed under another key; nil if there are none, or no file. A running
    /// gateway may have the file open. Blocks.
    public static func keyProblem(inFile file: String) throws(LedgerUnavailable) -> String? {
        do {
            let key = try PrivateFiles.read(SQLiteSecureTextFile.keyFile(of: file), atMost: KeyFile.byteCount)
            let fingerprint = try key.map { try SecureTextCipher(key: Secret($0)).fingerprint }
            let count = try LedgerCopy.read(file) { database in
                // Without a key the next start makes one, which has sealed no text. 0 stands for it.
                try SecureTextTables(SQLiteTransaction(database)).count(notSealedBy: fingerprint ?? 0)
            }
            return count.flatMap { SQLiteSecureTextFile.keyProblem(file: file, texts: $0) }
        } catch {
            throw LedgerUnavailable(ofSQLite: error)
        }
    }
}
