internal import ServiceLifecycle

/// The control socket among the services: listens since before they were started, and is stopped in its turn.
struct ControlService: Service {
    let server: ControlServer

    func run() async throws {
        try? await gracefulShutdown()
        await server.stop()
    }
}
