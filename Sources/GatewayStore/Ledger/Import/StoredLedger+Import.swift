public import GatewayCore
public import GatewaySupport

extension StoredLedger {
    /// Imports registrations from before the gateway in one transaction: binds valid ones, and marks for deletion at the
    /// backend those of the others that are to be purged. Callers pass some hundreds at a time.
    ///
    /// - Parameter confirming: Whether the operator confirms the valid ones. Otherwise they are unconfirmed.
    /// - Returns: The result of each entry, in order. An entry that was imported before changes nothing.
    public func importEntries(
        _ entries: [ImportEntry], confirming: Bool = false, now: WallTime
    ) async throws(LedgerUnavailable) -> [ImportResult] {
        let all = try keyed(entries)
        return try await write { tables in
            // Shift the deadlines of earlier imports before new registrations join them.
            try tables.countRunningTime(until: now)
            return try all.map { try tables.importEntry($0, confirming: confirming, now: now) }
        }.get()
    }

    /// Returns the results that ``importEntries(_:confirming:now:)`` would have now, without changing anything.
    public func importResults(
        of entries: [ImportEntry], confirming: Bool = false
    ) async throws(LedgerUnavailable) -> [ImportResult] {
        let all = try keyed(entries)
        return try await readAtLength { tables in
            try all.map { try tables.importResult(of: $0, confirming: confirming) }
        }
    }

    private func keyed(_ entries: [ImportEntry]) throws(LedgerUnavailable) -> [KeyedImportEntry] {
        var keyed: [KeyedImportEntry] = []
        for entry in entries {
            let content = try digester.digest(of: entry.content)
            switch entry.assessment {
            case .valid(let owner, let handle):
                keyed.append(
                    KeyedImportEntry(
                        id: entry.id, owner: owner, handle: try digester.key(of: handle),
                        formerKeys: try digester.formerKeys(of: handle), content: content, isPurged: entry.isPurged))
            case .rejected(let handle):
                var key: HandleKey?
                if let handle { key = try digester.key(of: handle) }
                keyed.append(
                    KeyedImportEntry(
                        id: entry.id, owner: nil, handle: key, formerKeys: [], content: content,
                        isPurged: entry.isPurged))
            }
        }
        return keyed
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
