public import GatewayCore
public import GatewaySupport

extension StoredLedger {
    /// Imports registrations from before the gateway in one transaction: binds valid ones, and marks rejected ones for
    /// deletion at the backend if `purging` is true. Callers pass some hundreds at a time.
    ///
    /// - Parameter confirming: Whether the operator confirms the valid ones. Otherwise they are unconfirmed.
    /// - Returns: The result of each entry, in order. An entry that was imported before changes nothing.
    public func importEntries(
        _ entries: [ImportEntry], purging: Bool, confirming: Bool = false, now: WallTime
    ) async throws(LedgerUnavailable) -> [ImportResult] {
        var keyed: [KeyedImportEntry] = []
        for entry in entries {
            let content = try digester.digest(of: entry.content)
            switch entry.assessment {
            case .valid(let owner, let handle):
                keyed.append(
                    KeyedImportEntry(
                        id: entry.id, owner: owner, handle: try digester.key(of: handle),
                        formerKeys: try digester.formerKeys(of: handle), content: content))
            case .rejected(let handle):
                var key: HandleKey?
                if let handle { key = try digester.key(of: handle) }
                keyed.append(
                    KeyedImportEntry(id: entry.id, owner: nil, handle: key, formerKeys: [], content: content))
            }
        }
        let all = keyed
        return try await write { tables in
            // Shift the deadlines of earlier imports before new registrations join them.
            try tables.countRunningTime(until: now)
            return try all.map { try tables.importEntry($0, purging: purging, confirming: confirming, now: now) }
        }.get()
    }

    /// Stores that an import has finished, whatever its results.
    public func recordImport(now: WallTime) async throws(LedgerUnavailable) {
        try await write { try $0.recordImport(now) }.get()
    }

    /// Returns the state of the migration.
    public func migration() async throws(LedgerUnavailable) -> MigrationState {
        try await readAtLength { try $0.migration() }
    }
}
