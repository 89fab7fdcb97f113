internal import Foundation
internal import GRDB
package import GatewayCore
package import GatewaySupport

/// Consistent copies of the database files of a gateway, for a backup. A gateway may use the files meanwhile: SQLite's own
/// locks keep the copy whole.
package enum LedgerSnapshot {
    /// Copies the ledger to a new file of mode 0600. The copy is marked, so that a gateway that starts with it detects the
    /// restore. Blocks.
    ///
    /// - Returns: The version of its tables.
    package static func writeLedger(
        _ file: String, to path: String, now: WallTime
    ) throws(LedgerUnavailable) -> Int {
        try write(file, to: path) { database -> Int in
            try LedgerTables(SQLiteTransaction(database)).recordBackup(now)
            return try LedgerSchema.version(of: database)
        }
    }

    /// Copies the texts of secure sends beside a ledger to a new file of mode 0600. Blocks.
    ///
    /// - Returns: The version of their tables; nil if there are no texts.
    package static func writeTexts(ofLedger file: String, to path: String) throws(LedgerUnavailable) -> Int? {
        let texts = SQLiteSecureTextFile.path(ofLedger: file)
        guard StoredSecureTexts.exists(texts) else { return nil }
        return try write(texts, to: path) { try Int.fetchOne($0, sql: "PRAGMA user_version") ?? 0 }
    }

    private static func write<Value>(
        _ source: String, to path: String, _ complete: (Database) throws -> Value
    ) throws(LedgerUnavailable) -> Value {
        let copy = LedgerCopy.isOpen(source) ? nil : try LedgerCopy(of: source)
        defer { copy?.remove() }
        do {
            guard copy != nil || FileManager.default.fileExists(atPath: source) else {
                throw LedgerUnavailable("\(source) does not exist")
            }
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let original = try DatabaseQueue(path: copy?.file ?? source, configuration: configuration)
            defer { try? original.close() }
            try PrivateFiles.makeFile(path)
            let target = try DatabaseQueue(path: path)
            try original.backup(to: target)
            let value = try target.write(complete)
            // A backup of a damaged file would be found out when it is needed.
            if let damage = try target.read({ try LedgerCheck.damage(of: $0, .pages) }) {
                throw LedgerUnavailable("\(source) is damaged: \(damage)")
            }
            try target.close()
            return value
        } catch {
            throw LedgerUnavailable(ofSQLite: error)
        }
    }
}
