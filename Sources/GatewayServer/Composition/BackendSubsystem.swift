internal import Gateway
internal import GatewayConfiguration
internal import Logging
internal import NotifyBackend
internal import ServiceLifecycle

/// The embedded backends and the embedded hub of a configuration. They share one notification hub in memory, as a
/// backend and a gateway do that use the same hub.
struct BackendSubsystem: Sendable {
    private struct Embedded: Sendable {
        let index: Int
        let backend: EmbeddedBackend
        let ports: AsyncStream<Int>
    }

    private let embedded: [Embedded]
    private let count: Int

    /// Creates the backends.
    init(_ context: ServerContext) {
        let sections = context.configuration.backends
        let hub = NotificationHub()
        count = sections.count
        embedded = sections.enumerated().filter { $0.element.address == .embedded }.map { index, section in
            let (ports, port) = AsyncStream<Int>.makeStream()
            let backend = section.embedded(hub, context.logger) { port.yield($0) }
            return Embedded(index: index, backend: backend, ports: ports)
        }
    }

    /// The services of the embedded backends.
    var services: [any Service] { embedded.map { $0.backend } }

    /// Waits until the embedded backends listen, and returns the port of each backend; nil for one elsewhere.
    ///
    /// - Throws: `CancellationError` if the gateway stops first.
    func ports() async throws -> [Int?] {
        var all = [Int?](repeating: nil, count: count)
        for embedded in embedded {
            guard let port = await embedded.ports.first(where: { _ in true }) else { throw CancellationError() }
            all[embedded.index] = port
        }
        return all
    }
}

extension ServerConfiguration.BackendSection {
    /// Returns the embedded backend or hub of this section.
    fileprivate func embedded(
        _ hub: NotificationHub, _ logger: Logger, onListening: @escaping @Sendable (Int) async -> Void
    ) -> EmbeddedBackend {
        if let settings = self.hub {
            let policy = HubAccess.Policy(
                name: settings.connection.keyName, key: settings.connection.key, rights: [.listen, .send])
            return EmbeddedBackend(
                access: HubAccess(hub: settings.name, policies: [policy]), hub: hub, port: embeddedPort,
                logger: logger, onListening: onListening)
        }
        let flavor: BackendFlavor =
            switch profileName {
            case .classic: .classic
            case .core: .core
            case .net6: .net6
            }
        return EmbeddedBackend(
            flavor: flavor, hub: hub, port: embeddedPort, logger: logger, onListening: onListening)
    }
}
