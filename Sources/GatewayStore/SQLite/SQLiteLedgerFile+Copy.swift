internal import Foundation
internal import GatewayCore
internal import GatewaySupport

extension SQLiteLedgerFile {
    /// Copies the ledger to a new file, and its keys to files beside it. All files get mode 0600. The copy is marked, so
    /// that a gateway that starts with it detects the restore.
    func copy(to path: String) throws(LedgerUnavailable) {
        do { try copyAll(to: path) } catch { throw LedgerUnavailable(ofSQLite: error) }
    }

    private func copyAll(to path: String) throws {
        let manager = FileManager.default
        let (key, keyCopy, part) = (Self.keyFile(of: self.path), Self.keyFile(of: path), path + ".part")
        let (digestKey, digestKeyCopy) = (DigestKeyFile.path(ofLedger: self.path), DigestKeyFile.path(ofLedger: path))
        for taken in [path, keyCopy, digestKeyCopy] where manager.fileExists(atPath: taken) {
            throw LedgerUnavailable("\(taken) already exists")
        }
        guard let bytes = try PrivateFiles.read(key, atMost: 32) else { throw LedgerUnavailable("\(key) is missing") }
        var created: [String] = []
        do {
            // Left by an attempt that crashed. Fails for a directory of that name, which no backup created.
            try PrivateFiles.remove(part)
            try PrivateFiles.makeFile(part)
            created.append(part)
            try sqlite.copy(to: part) { try LedgerTables($0).recordBackup(Clocks.system.wall()) }
            try PrivateFiles.write(bytes, toNew: keyCopy)
            created.append(keyCopy)
            // Only a ledger that a gateway has used has a digest key.
            if let bytes = try PrivateFiles.read(digestKey, atMost: KeyFile.byteCount) {
                try PrivateFiles.write(bytes, toNew: digestKeyCopy)
                created.append(digestKeyCopy)
            }
            created.append(path)
            try PrivateFiles.rename(part, to: path)
        } catch {
            for file in created { try? PrivateFiles.remove(file) }
            throw error
        }
    }
}
