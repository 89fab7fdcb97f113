internal import GatewayCore
internal import GatewaySupport

/// An import entry whose handle is replaced by its key.
struct KeyedImportEntry: Sendable {
    let id: RegistrationID
    /// The owner; nil for a rejected entry.
    let owner: UserName?
    let handle: HandleKey?
    /// The keys under which an earlier version may have stored the handle.
    let formerKeys: [HandleKey]
    let content: KeyedDigest
    let isPurged: Bool
}

/// A registration at the backend that has no owner and is marked for deletion.
struct OrphanRegistration: Sendable, Hashable {
    let id: RegistrationID
    let handle: HandleKey?
    let reason: SweepReason
    /// The previous owner; nil for a registration from before the gateway.
    var owner: UserName?
    /// The upstream that has it; nil if that is not known.
    var upstream: UpstreamName?
}

extension LedgerTables {
    /// Imports an entry. Existing data of the ledger is newer than any export and is kept.
    ///
    /// - Parameter confirming: Whether the operator confirms the valid entries. Otherwise they stay unconfirmed until
    ///   their devices register again, because without a gateway any client could register a device under any user name.
    func importEntry(_ entry: KeyedImportEntry, confirming: Bool, now: WallTime) throws -> ImportResult {
        if let handle = entry.handle { try adopt(entry.formerKeys, as: handle) }
        let result = try importResult(of: entry, confirming: confirming)
        switch result {
        case .alreadyHandled: return result
        case .confirmed:
            guard var bound = try registration(entry.id) else { return .alreadyHandled }
            bound.importUnconfirmed = nil
            try store(bound)
            return result
        case .bound:
            guard let owner = entry.owner, let handle = entry.handle else { return .rejected }
            try store(
                Registration(
                    id: entry.id, owner: owner, handle: handle, state: .live, created: now, lastSeen: now,
                    importUnconfirmed: confirming ? nil : now))
        case .purged: try storeOrphan(OrphanRegistration(id: entry.id, handle: entry.handle, reason: .rejectedImport))
        case .superseded, .rejected: break
        }
        try record(result, of: entry)
        return result
    }

    /// Returns what an import of the entry does, without changing anything.
    func importResult(of entry: KeyedImportEntry, confirming: Bool) throws -> ImportResult {
        let keys = (entry.handle.map { [$0] } ?? []) + entry.formerKeys
        if let bound = try registration(entry.id), bound.isBound {
            guard confirming, bound.importUnconfirmed != nil, bound.isLive, bound.owner == entry.owner,
                let handle = bound.handle, keys.contains(handle)
            else { return .alreadyHandled }
            return .confirmed
        }
        if try orphan(entry.id) != nil { return .alreadyHandled }
        let before = try firstRow(
            sql: "SELECT verdict FROM imported WHERE id = ? AND content = ?",
            arguments: [entry.id.text, entry.content.bytes]
        ).flatMap { ImportResult(rawValue: try $0.required("verdict", as: String.self)) }
        // A registration that was bound then and is missing now was deleted since. A purged one was deleted at the
        // backend.
        if before == .bound || before == .purged { return .alreadyHandled }
        if entry.owner != nil, entry.handle != nil {
            if try !keys.contains(where: { try registration(boundTo: $0) != nil }) { return .bound }
            return entry.isPurged ? .purged : .superseded
        }
        return entry.isPurged ? .purged : .rejected
    }

    /// Returns the registration without an owner that has the id; nil if none is stored.
    func orphan(_ id: RegistrationID) throws -> OrphanRegistration? {
        guard let row = try firstRow(sql: "SELECT * FROM stray WHERE id = ?", arguments: [id.text]),
            let reason = SweepReason(rawValue: try row.required("reason", as: String.self))
        else { return nil }
        let owner = try row.optional("owner", as: String.self).flatMap(UserName.init(canonical:))
        return OrphanRegistration(
            id: id, handle: try HandleKey(row: row), reason: reason, owner: owner,
            upstream: try row.optional("upstream", as: String.self).map(UpstreamName.init))
    }

    /// Stores a registration without an owner. Replaces the row with the same id.
    func storeOrphan(_ orphan: OrphanRegistration) throws {
        try execute(
            sql: """
                INSERT INTO stray (id, service, handle, reason, owner, upstream) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET service = excluded.service, handle = excluded.handle,
                    reason = excluded.reason, owner = excluded.owner, upstream = excluded.upstream, undeleted = NULL
                """,
            arguments: [
                orphan.id.text, orphan.handle?.service.rawValue, orphan.handle.map { $0.digest.bytes },
                orphan.reason.rawValue, orphan.owner?.text, orphan.upstream?.text,
            ])
    }

    /// Removes the registration after the backend has deleted it.
    func removeOrphan(_ id: RegistrationID) throws {
        try execute(sql: "DELETE FROM stray WHERE id = ?", arguments: [id.text])
    }

    /// Stores that an import has finished.
    func recordImport(_ now: WallTime) throws {
        try execute(
            sql:
                "INSERT INTO property (name, value) VALUES ('imported', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            arguments: [Array("\(now)".utf8)])
    }

    /// Returns the state of the migration, with the counts of rejected and unconfirmed registrations.
    ///
    /// - Parameter hasUnconfirmed: Whether the tables can have unconfirmed registrations. False for those of an earlier
    ///   version.
    func migration(hasUnconfirmed: Bool = true) throws -> MigrationState {
        guard try firstRow(sql: "SELECT 1 FROM property WHERE name = 'imported'") != nil else {
            return .notImported
        }
        let rejected = try count(
            sql: """
                SELECT count(DISTINCT id) FROM imported WHERE verdict IN ('unsound', 'superseded')
                    AND NOT EXISTS (SELECT 1 FROM registration
                        WHERE registration.id = imported.id AND registration.state <> 'reserved')
                    AND NOT EXISTS (SELECT 1 FROM imported AS later
                        WHERE later.id = imported.id AND later.verdict = 'purged')
                """)
        return .imported(rejected: rejected, unconfirmed: hasUnconfirmed ? try unconfirmedCount() : 0)
    }

    private func record(_ result: ImportResult, of entry: KeyedImportEntry) throws {
        try execute(
            sql: """
                INSERT INTO imported (id, content, verdict) VALUES (?, ?, ?)
                ON CONFLICT (id, content) DO UPDATE SET verdict = excluded.verdict
                """,
            arguments: [entry.id.text, entry.content.bytes, result.rawValue])
    }
}
