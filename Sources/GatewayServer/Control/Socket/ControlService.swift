internal import ServiceLifecycle

/// The service that stops the control socket. The socket listens before the services start.
struct ControlService: Service {
    let server: ControlServer

    func run() async throws {
        try? await gracefulShutdown()
        await server.stop()
    }
}
