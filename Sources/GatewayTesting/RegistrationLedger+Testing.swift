public import GatewayCore
public import GatewaySupport

extension RegistrationLedger {
    /// Claims on behalf of a caller that cannot be revoked.
    public func begin(_ request: LedgerRequest, now: WallTime) async throws(LedgerUnavailable) -> LedgerClaim {
        try await begin(request, now: now, isRevoked: { false })
    }
}
