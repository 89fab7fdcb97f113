internal import GatewayConfiguration
internal import GatewayOperations
internal import GatewaySupport

/// The operations for operators, which the control socket and the console offer.
struct OperationsSubsystem: Sendable {
    let operations: ControlOperations
    /// The verifier of the journal, whose progress the console shows.
    let verifier: JournalVerifier
    /// The journal, whose new records both offer.
    let journal: JournalSource

    /// Creates the operations. They reload through the given service.
    init(_ context: ServerContext, _ subsystems: Subsystems, _ reload: ReloadSubsystem) {
        let (stores, calls, service) = (subsystems.stores.stores, subsystems.calls, reload.service)
        let names = context.configuration.names
        verifier = JournalVerifier(context.configuration)
        journal = JournalSource(
            directory: context.configuration.journal.directory, followers: stores.followers,
            feed: subsystems.stores.feed)
        operations = ControlOperations(
            ControlOperations.all(
                .init(
                    throttle: calls.throttle, limiter: { calls.limiter.value }, names: names,
                    reload: { await service.reloadNow() }, dryRun: calls.dryRun, policy: { calls.policy.value },
                    metrics: context.metrics,
                    stores: StoreOperations(
                        ledger: stores.ledger, revocation: subsystems.accounts.revocation, names: names,
                        handles: calls.handles,
                        hub: calls.hub, clocks: context.clocks),
                    history: subsystems.stores.history, calls: subsystems.stores.calls,
                    statistics: subsystems.stores.statistics,
                    node: stores.nodes.map { _ in HostName.current ?? "unknown" }, verifier: verifier,
                    nodes: stores.nodes, massEnds: subsystems.authenticators.massEnds,
                    applyAccounts: { [accounts = subsystems.accounts] in await accounts.applyWaiting() })),
            journal: stores.journal, logger: context.logger)
    }
}
