internal import ServiceLifecycle

/// The service that stops the control socket. The socket listens before the services start.
package struct ControlService: Service {
    let server: ControlServer

    /// Creates the service of a listening socket.
    package init(server: ControlServer) { self.server = server }

    package func run() async throws {
        try? await gracefulShutdown()
        await server.stop()
    }
}
