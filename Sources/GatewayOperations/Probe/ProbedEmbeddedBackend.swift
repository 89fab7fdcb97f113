internal import Gateway
internal import GatewayCore
internal import GatewayHTTP
internal import Logging
internal import NotifyBackend

/// An embedded backend that runs for one probe only. Its existence proves that it holds no registrations of others.
struct ProbedEmbeddedBackend: ~Copyable {
    /// The parameters for the probe.
    let target: ProbeTarget

    fileprivate init(port: Int, hub: NotificationHub, profile: BackendProfile.BackendSide) {
        target = ProbeTarget(
            address: .tcp(host: "127.0.0.1", port: port), host: "127.0.0.1:\(port)", profile: profile,
            credential: .mirror, users: ("probe-own", "probe-other"),
            inbox: { handle in hub.inbox(ofHandle: handle).map(\.payload) })
    }

    /// Runs `body` while such a backend listens on a port that the system assigns.
    static func run<Result: Sendable>(
        _ flavor: BackendFlavor, profile: BackendProfile.BackendSide, logger: Logger,
        _ body: (borrowing ProbedEmbeddedBackend) async throws -> Result
    ) async throws -> Result {
        let hub = NotificationHub()
        let (ports, port) = AsyncStream<Int>.makeStream()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { port.finish() }
                try await EmbeddedBackend(
                    flavor: flavor, hub: hub, logger: logger, onListening: { port.yield($0) }
                ).run()
            }
            defer { group.cancelAll() }
            guard let port = await ports.first(where: { _ in true }) else {
                throw ProbeError("the embedded backend did not start")
            }
            return try await body(ProbedEmbeddedBackend(port: port, hub: hub, profile: profile))
        }
    }
}
