internal import GatewayConfiguration
internal import GatewaySupport
internal import ServiceLifecycle

/// The admin listener, and the port that it listens on.
struct AdminSubsystem: Sendable {
    /// The running gateway for the metrics; nil until it has started.
    let running = HotSwappable<RunningGateway?>(nil)
    private let service: AdminService
    private let ports: AsyncStream<Int?>

    /// Creates the admin listener.
    init(_ context: ServerContext, _ subsystems: Subsystems, tls: ConfiguredTLS) {
        let (ports, port) = AsyncStream<Int?>.makeStream()
        self.ports = ports
        service = AdminService(
            address: context.configuration.admin, readiness: subsystems.stores.readiness,
            metrics: MetricsCollector(
                context: context, subsystems: subsystems, running: running,
                certificates: zip(context.configuration.listeners, tls.listeners).compactMap { section, tls in
                    tls.map { (section.address.description, $0) }
                }),
            logger: context.logger
        ) { port.yield($0) }
    }

    /// The services of the admin listener.
    var services: [any Service] { [service] }

    /// Waits until the listener accepts connections, and returns its port; nil for a Unix socket.
    ///
    /// - Throws: `CancellationError` if the gateway stops first.
    func port() async throws -> Int? {
        guard let port = await ports.first(where: { _ in true }) else { throw CancellationError() }
        return port
    }
}
