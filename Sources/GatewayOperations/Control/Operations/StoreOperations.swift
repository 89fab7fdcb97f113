package import GatewayCore
package import GatewayStore
package import GatewaySupport

/// The dependencies of the operations that need only the stores. These operations also work without a running gateway.
package struct StoreOperations: Sendable {
    let ledger: StoredLedger
    let sessions: SessionRegister
    let revocation: UserRevocation
    let sweeper: RegistrationSweeper
    let names: NameRules
    let handles: HotSwappable<HandleRules>
    let hub: HotSwappable<HubRegistrations?>
    let clocks: Clocks

    /// Creates the dependencies. Sessions and sweeper are those of the revocation.
    package init(
        ledger: StoredLedger, revocation: UserRevocation, names: NameRules, handles: HotSwappable<HandleRules>,
        hub: HotSwappable<HubRegistrations?>, clocks: Clocks
    ) {
        self.ledger = ledger
        sessions = revocation.sessions
        self.revocation = revocation
        sweeper = revocation.sweeper
        self.names = names
        self.handles = handles
        self.hub = hub
        self.clocks = clocks
    }

    /// Returns every such operation.
    var all: [any ControlOperation] {
        [
            ListTokensOperation(sessions: sessions, names: names),
            RevokeTokensOperation(ledger: ledger, sessions: sessions, revocation: revocation, names: names),
            ListRegistrationsOperation(ledger: ledger, names: names),
            RevokeRegistrationOperation(ledger: ledger, sweeper: sweeper),
            BackupOperation(ledger: ledger),
            ImportRegistrationsOperation(
                ledger: ledger, sweeper: sweeper, names: names, handles: handles, clocks: clocks),
            ReconcileRegistrationsOperation(
                ledger: ledger, sweeper: sweeper, hub: hub, names: names, handles: handles, clocks: clocks),
        ]
    }
}
