internal import GatewayConfiguration
internal import GatewayCore
internal import ServiceLifecycle

/// The reload of files and of the whole configuration.
struct ReloadSubsystem: Sendable {
    /// Reloads when files change, on SIGHUP, and on an operator's request.
    let service: ReloadService
    /// The reload of the whole configuration; nil if it did not come from a file.
    private let whole: GatewayReload?

    /// Creates the reload.
    ///
    /// - Parameter source: The source of the configuration; nil if only files of users, keys and certificates are reloaded.
    init(
        _ context: ServerContext, source: ConfigurationSource?, _ subsystems: Subsystems, tls: ConfiguredTLS
    ) {
        let whole = source.map {
            GatewayReload(from: $0, context, subsystems, tls: tls)
        }
        self.whole = whole
        let fences = whole.map { [$0.fences(of: context.configuration)] } ?? []
        service = ReloadService(
            subsystems.calls.clearingPasswordCache(subsystems.authenticators.made) + tls.reloadable + fences,
            accounts: subsystems.accounts.monitor, whole: whole, notifier: context.notifier, logger: context.logger,
            awaitsStart: true)
    }

    /// The services of the reload.
    var services: [any Service] { [service] }

    /// Sets the gateway whose rules are replaced. Before this call, every reload of the whole configuration fails.
    func attach(_ running: RunningGateway) async { await whole?.attach(running) }
}
