internal import Foundation
internal import GRDB
public import GatewayCore
internal import GatewaySupport
internal import Glibc

// The journal's checkpoint in the ledger.
extension SQLiteLedger: JournalCheckpointStore {
    /// Returns the journal's last checkpoint; nil if none is stored. Blocks.
    public func journalCheckpoint() throws(LedgerUnavailable) -> KnownCheckpoint? {
        do { return try database.read { try LedgerTables($0).journalCheckpoint() } } catch {
            throw .init(describing: error)
        }
    }

    /// Stores the checkpoint and replaces the previous one. Blocks; must not be called on an event loop.
    public func keep(_ checkpoint: KnownCheckpoint) throws(LedgerUnavailable) {
        do {
            try database.write { try LedgerTables($0).keep(checkpoint) }
        } catch {
            throw .init(describing: error)
        }
    }
}

extension KnownCheckpoint {
    /// Reads the checkpoint from the ledger's file without locking the ledger, which a gateway may have open. Nil if
    /// the ledger does not exist or stores no checkpoint. Blocks; intended for commands.
    public init?(ledger file: String) throws(LedgerUnavailable) {
        guard access(file, F_OK) == 0 else { return nil }
        // A ledger that is not open is read from a copy, because SQLite would create files beside it.
        let copy = LedgerCopy.isOpen(file) ? nil : try LedgerCopy(of: file)
        defer { copy?.remove() }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: copy?.file ?? file, configuration: configuration)
            let read = try queue.read { database -> KnownCheckpoint? in
                guard (5...LedgerSchema.version).contains(try LedgerSchema.version(of: database)) else { return nil }
                return try LedgerTables(database).journalCheckpoint()
            }
            try queue.close()
            guard let read else { return nil }
            self = read
        } catch {
            throw LedgerUnavailable(describing: error)
        }
    }
}

extension LedgerTables {
    func journalCheckpoint() throws -> KnownCheckpoint? {
        guard let row = try Row.fetchOne(database, sql: "SELECT number, hash, at FROM journal_checkpoint") else {
            return nil
        }
        guard let number = UInt64(exactly: row["number"] as Int64), let hash = SHA256.Digest(Array(row["hash"] as Data))
        else { throw LedgerUnavailable("the ledger contains an invalid journal checkpoint") }
        return KnownCheckpoint(number: number, hash: hash, time: WallTime(microseconds: row["at"]))
    }

    func keep(_ checkpoint: KnownCheckpoint) throws {
        try database.execute(
            sql: """
                INSERT INTO journal_checkpoint (id, number, hash, at) VALUES (1, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET number = excluded.number, hash = excluded.hash, at = excluded.at
                """,
            arguments: [
                Int64(clamping: checkpoint.number), Data(checkpoint.hash.bytes), checkpoint.time.microseconds,
            ])
    }
}
