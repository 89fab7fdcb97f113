internal import Foundation
internal import GRDB
public import GatewayCore
internal import GatewaySupport

extension SQLiteSecureTexts {
    /// Returns whether there is a file of texts.
    public static func exists(_ file: String) -> Bool { FileManager.default.fileExists(atPath: file) }

    /// Copies the texts to a new file, and their key to a file beside it. The texts stay usable. All files get mode 0600.
    /// Throws if one of them exists; a failed copy leaves none. Blocks; called on a thread of its own.
    func copy(to path: String) throws {
        let (key, part) = (Self.keyFile(of: path), path + ".part")
        for taken in [path, key] where FileManager.default.fileExists(atPath: taken) {
            throw LedgerUnavailable("\(taken) already exists")
        }
        guard let bytes = try PrivateFiles.read(Self.keyFile(of: file), atMost: KeyFile.byteCount) else {
            throw LedgerUnavailable("\(Self.keyFile(of: file)) is missing")
        }
        do {
            try PrivateFiles.remove(part)
            try PrivateFiles.makeFile(part)
            let copy = try DatabaseQueue(path: part)
            try database.backup(to: copy)
            try copy.close()
            try PrivateFiles.write(bytes, toNew: key)
            try PrivateFiles.rename(part, to: path)
        } catch {
            try? PrivateFiles.remove(part)
            try? PrivateFiles.remove(key)
            throw error
        }
    }

    /// Removes a copy that `copy(to:)` made.
    static func removeCopy(at path: String) {
        for file in [path, keyFile(of: path)] { try? PrivateFiles.remove(file) }
    }

    /// Returns the message about texts that were sealed under another key; nil if there are none, or no file. A running
    /// gateway may have the file open. Blocks.
    public static func keyProblem(inFile file: String) throws(LedgerUnavailable) -> String? {
        do {
            let key = try PrivateFiles.read(keyFile(of: file), atMost: KeyFile.byteCount)
            let fingerprint = try key.map { try SecureTextCipher(key: Secret($0)).fingerprint }
            let count = try LedgerCopy.read(file) { database in
                // Without a key the next start makes one, which has sealed no text. 0 stands for it.
                try SecureTextTables(database).count(notSealedBy: fingerprint ?? 0)
            }
            return count.flatMap { keyProblem(file: file, texts: $0) }
        } catch {
            throw LedgerUnavailable(describing: error)
        }
    }

    /// Returns the message about texts that were sealed under another key; nil for none.
    static func keyProblem(file: String, texts: Int) -> String? {
        guard texts > 0 else { return nil }
        return "\(texts) texts of secure notifications in \(file) were sealed under another key than that in "
            + "\(keyFile(of: file)), and cannot be read; restore the key that belongs to them, or let them expire"
    }

    /// The message about texts that the present key cannot open; nil if there are none.
    public var keyProblem: String? { Self.keyProblem(file: file, texts: unreadable) }
}
