internal import Gateway
internal import GatewayConfiguration
internal import NotifyBackend
internal import ServiceLifecycle

/// The embedded backend; with another backend there is none.
struct BackendSubsystem: Sendable {
    private let backend: EmbeddedBackend?
    private let ports: AsyncStream<Int>

    /// Creates the backend.
    init(_ context: ServerContext) {
        let (ports, port) = AsyncStream<Int>.makeStream()
        self.ports = ports
        let section = context.configuration.backend
        guard section.address == .embedded else {
            backend = nil
            return
        }
        if let hub = section.hub {
            let policy = HubAccess.Policy(
                name: hub.connection.keyName, key: hub.connection.key, rights: [.listen, .send])
            backend = EmbeddedBackend(
                access: HubAccess(hub: hub.name, policies: [policy]), port: section.embeddedPort,
                logger: context.logger, onListening: { port.yield($0) })
            return
        }
        let flavor: BackendFlavor =
            switch section.profileName {
            case .classic: .classic
            case .core: .core
            case .net6: .net6
            }
        backend = EmbeddedBackend(
            flavor: flavor, port: section.embeddedPort, logger: context.logger, onListening: { port.yield($0) })
    }

    /// The services of the backend.
    var services: [any Service] { backend.map { [$0] } ?? [] }

    /// Waits until the embedded backend listens, and returns its port; nil for another backend.
    ///
    /// - Throws: `CancellationError` if the gateway stops first.
    func port() async throws -> Int? {
        guard backend != nil else { return nil }
        guard let port = await ports.first(where: { _ in true }) else { throw CancellationError() }
        return port
    }
}
