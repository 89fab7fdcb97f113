internal import GRDB
internal import GatewayCore

extension SQLiteLedger {
    /// Reads one state of the ledger, off the caller's executor.
    ///
    /// - Parameter body: short, since others wait for it.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async throws(LedgerUnavailable) -> Value {
        try await reads.read(body).get()
    }

    /// Reads one state of the ledger, off the caller's executor, for as long as it takes: in a transaction of its own,
    /// for which others wait only where there are as many such as readers.
    func readAtLength<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async throws(LedgerUnavailable) -> Value {
        let result: Result<Value, LedgerUnavailable> = await withCheckedContinuation { continuation in
            database.asyncRead { [health] access in
                let result = Result { try body(LedgerTables(access.get())) }
                if case .failure(let error) = result { health.noteRead(error) }
                continuation.resume(returning: result.mapError(LedgerUnavailable.init(describing:)))
            }
        }
        return try result.get()
    }

    /// Writes all of it or nothing, off the caller's executor; returns once it is on disk. Not undone by the caller's being
    /// cancelled: what the backend did has to be written down.
    ///
    /// - Parameter body: may run again, after what it wrote was undone.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        await commits.write(body)
    }
}
