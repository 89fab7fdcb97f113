internal import GatewayCore

/// Runs a ledger access and converts its error for an operator.
func withLedger<Value>(
    _ body: () async throws(LedgerUnavailable) -> Value
) async throws(ControlError) -> Value {
    do throws(LedgerUnavailable) {
        return try await body()
    } catch {
        throw .unavailable("The ledger cannot be used: \(error.detail)")
    }
}
