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

    /// Writes the renewals before a listing. Without space on the disk, the listing has earlier times.
    func writeRenewals() async {
        if !renewals.isEmpty { _ = await write { _ in } }
    }
}
