internal import GatewayConfiguration
internal import GatewayOperations
internal import GatewaySupport
internal import ServiceLifecycle

/// The control socket; without one in the configuration there is none.
struct ControlSubsystem: Sendable {
    private let server: ControlServer?

    /// Opens the socket. Its operations reload through the given service.
    ///
    /// - Throws: The reason why the socket cannot be opened.
    static func open(
        _ context: ServerContext, _ subsystems: Subsystems, _ reload: ReloadSubsystem, tls: ConfiguredTLS
    ) async throws -> ControlSubsystem {
        guard let path = context.configuration.control else { return ControlSubsystem(server: nil) }
        let (stores, calls, service) = (subsystems.stores.stores, subsystems.calls, reload.service)
        let names = context.configuration.names
        let operations = ControlOperations.all(
            .init(
                throttle: calls.throttle, limiter: { calls.limiter.value }, names: names,
                reload: { await service.reloadNow() }, dryRun: calls.dryRun,
                stores: StoreOperations(
                    ledger: stores.ledger, revocation: subsystems.accounts.revocation, names: names,
                    handles: calls.handles,
                    hub: HubRegistrations(
                        configuration: context.configuration, tls: tls.backends, clocks: context.clocks),
                    clocks: context.clocks),
                history: subsystems.stores.history, verifier: JournalVerifier(context.configuration)))
        do {
            return ControlSubsystem(
                server: try await ControlServer.open(
                    path: path,
                    operations: ControlOperations(operations, journal: stores.journal, logger: context.logger),
                    journal: JournalSource(
                        directory: context.configuration.journal.directory, followers: stores.followers),
                    group: context.threads.group, logger: context.logger))
        } catch let fault as ControlError {
            throw ConfigurationError(file: path, fault.reason)
        }
    }

    /// The services of the socket, which listens before they start.
    var services: [any Service] { server.map { [ControlService(server: $0)] } ?? [] }

    /// Closes the socket after the operations in progress. Needed if the services did not stop it.
    func close() async { await server?.stop() }
}
