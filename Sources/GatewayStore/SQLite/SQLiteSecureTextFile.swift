internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// The texts of secure notifications in an SQLite file of their own beside the ledger, with their key and their lock in
/// files beside it.
///
/// A file of its own, because SQLite has one writer for each file: a burst of texts does not delay registrations, and the
/// ledger does not grow with them. One process at a time may open the file.
final class SQLiteSecureTextFile: SecureTextStorage {
    var database: any SQLDatabase { sqlite }
    /// Seals and opens the texts with the key beside the file.
    let cipher: SecureTextCipher
    let sqlite: SQLiteDatabase
    private let path: String
    private let lock: LockFile

    /// Opens the file and its key, or creates them. Blocks; called at startup.
    init(_ path: String) throws {
        try PrivateFiles.makeDirectory(PrivateFiles.parent(of: path))
        lock = try LockFile(path + ".lock")
        try PrivateFiles.makeFile(path)
        cipher = try SecureTextCipher(key: KeyFile.open(Self.keyFile(of: path)))
        sqlite = try SQLiteDatabase(file: path, label: "texts", readers: 1)
        try sqlite.makeDurable()
        try sqlite.pool.write { try SecureTextSchema.prepare($0) }
        self.path = path
    }

    /// Returns the path of the texts' file beside a ledger.
    static func path(ofLedger file: String) -> String { file + ".texts" }

    /// Returns the path of the key of a file of texts.
    static func keyFile(of file: String) -> String { file + ".key" }

    func close() throws(LedgerUnavailable) {
        do { try sqlite.close() } catch { throw LedgerUnavailable(ofSQLite: error) }
        lock.release()
    }

    func keyProblem(texts: Int) -> String? { Self.keyProblem(file: path, texts: texts) }

    /// Returns the message about texts that were sealed under another key; nil for none.
    static func keyProblem(file: String, texts: Int) -> String? {
        guard texts > 0 else { return nil }
        return "\(texts) texts of secure notifications in \(file) were sealed under another key than that in "
            + "\(keyFile(of: file)), and cannot be read; restore the key that belongs to them, or let them expire"
    }
}
