internal import GatewayCore

/// Asks the ledger something for an operator.
func askingLedger<Value>(
    _ body: () async throws(LedgerUnavailable) -> Value
) async throws(ControlError) -> Value {
    do throws(LedgerUnavailable) {
        return try await body()
    } catch {
        throw .unavailable("The ledger cannot be used: \(error.detail)")
    }
}
