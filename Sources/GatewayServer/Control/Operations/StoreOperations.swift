internal import GatewayCore
internal import GatewayStore

/// What the operations work on that need nothing but the stores: those that there are without a running gateway too.
struct StoreOperations: Sendable {
    let ledger: SQLiteLedger
    let sessions: SessionRegister
    let revocation: UserRevocation
    let sweeper: RegistrationSweeper
    let names: NameRules
    let handles: HotSwappable<HandleRules>
    let clocks: Clocks

    /// Every such operation.
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
