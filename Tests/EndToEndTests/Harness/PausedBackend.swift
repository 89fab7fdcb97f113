import GatewayTesting

/// A backend that holds each request until the test releases it.
struct PausedBackend: Sendable {
    private let server: ScriptedServer
    private let released: Signal

    /// The port on 127.0.0.1.
    var port: Int { server.port }

    /// The number of requests so far.
    var requests: Int { server.seen.count }

    /// Runs the body with such a backend.
    ///
    /// - Parameter onArrival: is called once for each request.
    static func run<Result: Sendable>(
        onArrival: @escaping @Sendable () -> Void = {}, whileServing body: (PausedBackend) async throws -> Result
    ) async throws -> Result {
        let released = Signal()
        return try await ScriptedServer.run { _ in
            onArrival()
            return [.wait(released), .write(ScriptedServer.ok(""))]
        } _: { server in
            try await body(PausedBackend(server: server, released: released))
        }
    }

    /// Responds to the held requests, and from now on to each request immediately.
    func release() { released.raise() }

    /// Returns when no connection is open.
    func isLeft() async { await server.wait { $0.connections == $0.closed } }
}
