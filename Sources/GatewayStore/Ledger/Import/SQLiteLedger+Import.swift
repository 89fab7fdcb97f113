internal import Foundation
internal import GRDB
public import GatewayCore

extension SQLiteLedger {
    /// Takes registrations from before the gateway in: binds what is sound, and where `purging` marks what is not to be deleted at
    /// the backend. All or nothing of them; to be called with so many at a time as a transaction may well hold, some hundreds.
    ///
    /// - Parameter confirming: whether the operator vouches for what is sound; else it is unconfirmed.
    /// - Returns: what became of each, in order. The very same entry a second time changes nothing.
    public func take(
        _ entries: [ImportEntry], purging: Bool, confirming: Bool = false, now: WallTime
    ) async throws(LedgerUnavailable) -> [ImportVerdict] {
        var keyed: [KeyedImportEntry] = []
        for entry in entries {
            let content = try digester.digest(of: entry.content)
            switch entry.judgement {
            case .sound(let owner, let handle):
                keyed.append(
                    KeyedImportEntry(
                        id: entry.id, owner: owner, handle: try digester.key(of: handle),
                        formerKeys: try digester.formerKeys(of: handle), content: content))
            case .unsound(let handle):
                var key: HandleKey?
                if let handle { key = try digester.key(of: handle) }
                keyed.append(
                    KeyedImportEntry(id: entry.id, owner: nil, handle: key, formerKeys: [], content: content))
            }
        }
        let all = keyed
        return try await write { tables in
            // What is unconfirmed already has waited up to now.
            try tables.countRunningTime(until: now)
            return try all.map { try tables.take($0, purging: purging, confirming: confirming, now: now) }
        }.get()
    }

    /// Notes that an import has run to its end, whatever it found.
    public func noteImport(now: WallTime) async throws(LedgerUnavailable) {
        try await write { try $0.noteImport(now) }.get()
    }

    /// What is known of registrations from before the gateway.
    public func migration() async throws(LedgerUnavailable) -> MigrationState {
        try await readAtLength { try $0.migration() }
    }

    /// What a ledger on disk knows of registrations from before the gateway; it may be open elsewhere. Blocks.
    ///
    /// - Returns: `notImported` also where there is no ledger yet.
    public static func migration(inFile file: String) throws(LedgerUnavailable) -> MigrationState {
        guard FileManager.default.fileExists(atPath: file) else { return .notImported }
        // Where no gateway has it open, SQLite would make files beside the ledger to read it.
        let copy = LedgerCopy.isOpen(file) ? nil : try LedgerCopy(of: file)
        defer { copy?.remove() }
        let file = copy?.file ?? file
        do {
            var configuration = Configuration()
            configuration.readonly = true
            let database = try DatabaseQueue(path: file, configuration: configuration)
            defer { try? database.close() }
            return try database.read { database in
                guard try LedgerSchema.version(of: database) >= 3 else { return .notImported }
                return try LedgerTables(database).migration()
            }
        } catch {
            throw LedgerUnavailable(describing: error)
        }
    }
}
