internal import GatewayCore

extension StoredLedger {
    /// Runs the body on one state of the ledger, outside the caller's executor.
    ///
    /// - Parameter body: Must be short, because other reads wait for it.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async throws(LedgerUnavailable) -> Value {
        try await reads.read(body).get()
    }

    /// Runs a long read on one state of the ledger, outside the caller's executor. It has its own transaction, so other
    /// reads wait only if every reader connection is in use.
    func readAtLength<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async throws(LedgerUnavailable) -> Value {
        let result: Result<Value, LedgerUnavailable> = await withCheckedContinuation { continuation in
            database.enqueueRead { [database, health] access in
                let result = Result { try body(LedgerTables(access.get())) }
                if case .failure(let error) = result { health.recordReadFailure(error) }
                continuation.resume(returning: result.mapError(database.unavailable))
            }
        }
        return try result.get()
    }

    /// Writes all of the changes or none, outside the caller's executor, and returns once they are on disk. Cancelling
    /// the caller does not stop the write, because the result of a backend call must be stored.
    ///
    /// - Parameter body: May run again after a rollback.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        renewals.write()
        return await commits.write(body)
    }

    /// Writes a change of sessions or revocations, which other nodes of a shared store learn.
    ///
    /// - Returns: The value of the body, and the number by which other nodes know the change; 0 without other nodes.
    func announce<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async -> Result<(value: Value, change: Int64), LedgerUnavailable> {
        renewals.write()
        return await commits.write(announcing: true) { tables in
            let value = try body(tables)
            return (value, tables.node == nil ? 0 : try tables.lastChange())
        }
    }

    /// Writes a change that a revocation of the user must precede or undo, so that the body's checks of memory include
    /// every revocation that another node has committed before.
    ///
    /// - Parameters:
    ///   - user: Nil for a change that no revocation concerns.
    ///   - beginsSession: Whether the change begins a session of the user. It is announced to other nodes then, and the end
    ///     of other sessions of the user does not concern it.
    ///   - body: May run again after a rollback, and after the changes of other nodes were applied.
    func write<Value: Sendable>(
        knowingRevocationsOf user: UserName?, beginsSession: Bool = false,
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        guard let feed = storage.feed, let user else { return await write(body) }
        renewals.write()
        for _ in 0..<Self.maximumRefreshes {
            let written = await commits.write(announcing: beginsSession) { tables -> Value? in
                // A change that is applied after this line is in memory when the body checks it.
                let applied = feed.applied
                let isBehind = try tables.hasChange(of: user, after: applied, includesSessions: !beginsSession)
                return isBehind ? nil : try body(tables)
            }
            switch written {
            case .failure(let error): return .failure(error)
            case .success(let value?): return .success(value)
            case .success(nil): guard await feed.refresh() else { return .failure(Self.behind) }
            }
        }
        return .failure(Self.behind)
    }

    /// How often a change is tried. It fails only if the access of its user ends again during each attempt.
    private static let maximumRefreshes = 20
    private static let behind = LedgerUnavailable("the changes of other gateways could not be read")

    /// Writes the renewals before a listing or a backup. Without space on the disk, these have earlier times.
    package func writeRenewals() async {
        if !renewals.isEmpty { _ = await write { _ in } }
    }
}
