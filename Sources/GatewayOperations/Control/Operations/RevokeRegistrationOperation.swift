internal import GatewayCore
internal import GatewayStore

/// `registrations revoke`: deletes one registration at the backend. The device may register again.
struct RevokeRegistrationOperation: ControlOperation {
    static let name = "registrations revoke"
    static let arguments: Set<String> = ["registration"]

    let ledger: SQLiteLedger
    let sweeper: RegistrationSweeper

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let id = try arguments.text("registration").flatMap(RegistrationID.init) else {
            throw .malformed("registration must be a registration's id.")
        }
        guard
            let owner = try await withLedger({ () async throws(LedgerUnavailable) in try await ledger.owner(of: id) })
        else { throw .refused("There is no such registration.") }
        let record = try await context.record(.operatorRevokeRegistration, user: owner, target: id.text)
        do throws(ControlError) {
            _ = try await withLedger { () async throws(LedgerUnavailable) in try await ledger.revoke(id) }
        } catch {
            record.failed()
            throw error
        }
        sweeper.wake()
    }
}
