internal import GatewayCore
internal import GatewayStore

/// The dependencies of the operations that need only the stores. These operations also work without a running gateway.
struct StoreOperations: Sendable {
    let ledger: SQLiteLedger
    let sessions: SessionRegister
    let revocation: UserRevocation
    let sweeper: RegistrationSweeper
    let names: NameRules
    let handles: HotSwappable<HandleRules>
    let clocks: Clocks

    /// Returns every such operation.
    var all: [any ControlOperation] {
        [
            ListTokensOperation(sessions: sessions, names: names),
            RevokeTokensOperation(ledger: ledger, sessions: sessions, revocation: revocation, names: names),
            ListRegistrationsOperation(ledger: ledger, names: names),
            RevokeRegistrationOperation(ledger: ledger, sweeper: sweeper),
            BackupLedgerOperation(ledger: ledger),
            ImportRegistrationsOperation(
                ledger: ledger, sweeper: sweeper, names: names, handles: handles, clocks: clocks),
        ]
    }
}
