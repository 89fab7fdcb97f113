internal import GRDB
internal import GatewayCore

extension SQLiteLedger {
    /// Reads one state of the ledger, off the caller's executor.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async throws(LedgerUnavailable) -> Value {
        let result: Result<Value, LedgerUnavailable> = await withCheckedContinuation { continuation in
            database.asyncRead { access in
                let result = Result { try body(LedgerTables(access.get())) }
                continuation.resume(returning: result.mapError(LedgerUnavailable.init(describing:)))
            }
        }
        return try result.get()
    }

    /// Writes one transaction, off the caller's executor. Not undone by the caller's being cancelled: what the backend did
    /// has to be written down.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        await withCheckedContinuation { continuation in
            database.asyncWrite {
                try body(LedgerTables($0))
            } completion: { _, result in
                continuation.resume(returning: result.mapError(LedgerUnavailable.init(describing:)))
            }
        }
    }
}
