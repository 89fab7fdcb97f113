public import GatewayCore
public import GatewaySupport

/// How the ledger's state compares with a registration that the backend has.
public enum LedgerComparison: Sendable, Hashable {
    /// The ledger has no registration with the id. `bound` is the one that it has for the handle.
    case unrecorded(bound: RegistrationID?)
    /// The ledger has the same owner and handle.
    case equal
    /// The ledger has another owner, or the backend's tags are not those of a single owner.
    case otherOwner
    /// The ledger has the owner, but another handle.
    case otherHandle
    /// The registration is being registered or deleted.
    case inProgress
}

extension StoredLedger {
    /// Compares registrations of the backend with the ledger in one transaction, without changing anything. Callers
    /// pass some hundreds at a time.
    ///
    /// - Returns: The comparison of each entry, in order.
    public func compare(_ entries: [ImportEntry]) async throws(LedgerUnavailable) -> [LedgerComparison] {
        var keyed: [KeyedRegistration] = []
        for entry in entries {
            let (owner, handle): (UserName?, DeviceHandle?) =
                switch entry.assessment {
                case .valid(let owner, let handle): (owner, handle)
                case .rejected(let handle): (nil, handle)
                }
            var keys: [HandleKey] = []
            if let handle { keys = [try digester.key(of: handle)] + (try digester.formerKeys(of: handle)) }
            keyed.append(KeyedRegistration(id: entry.id, owner: owner, handles: keys))
        }
        let all = keyed
        return try await readAtLength { tables in try all.map { try tables.compare($0) } }
    }

    /// Marks registrations for deletion with which the backend does not agree, except those whose devices registered
    /// after the time: the comparison did not see them.
    ///
    /// - Returns: The registrations marked.
    public func dropDiffering(
        _ ids: [RegistrationID], notSeenSince time: WallTime
    ) async throws(LedgerUnavailable) -> [RegistrationID] {
        await writeRenewals()
        return try await write { tables in
            try ids.filter { id in
                guard let row = try tables.registration(id), row.lastSeen < time, !row.isInDoubt else { return false }
                return try tables.markForDeletion(id, because: .differing)
            }
        }.get()
    }
}

/// A registration of the backend whose handle is replaced by its keys: the present one, and those of earlier versions.
private struct KeyedRegistration: Sendable {
    let id: RegistrationID
    /// The owner; nil without a single valid one.
    let owner: UserName?
    let handles: [HandleKey]
}

extension LedgerTables {
    fileprivate func compare(_ entry: KeyedRegistration) throws -> LedgerComparison {
        // The gateway has no registration at the backend under an id that is only reserved.
        guard let row = try registration(entry.id), row.isBound else {
            if try orphan(entry.id) != nil { return .inProgress }
            return .unrecorded(bound: try entry.handles.compactMap { try registration(boundTo: $0)?.id }.first)
        }
        guard row.isLive, !row.isInDoubt else { return .inProgress }
        guard row.owner == entry.owner else { return .otherOwner }
        guard let handle = row.handle, entry.handles.contains(handle) else { return .otherHandle }
        return .equal
    }
}
