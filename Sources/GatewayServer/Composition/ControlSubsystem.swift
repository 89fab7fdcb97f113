internal import GatewayConfiguration
internal import GatewayOperations
internal import GatewaySupport
internal import ServiceLifecycle

/// The control socket; without one in the configuration there is none.
struct ControlSubsystem: Sendable {
    private let server: ControlServer?

    /// Opens the socket.
    ///
    /// - Throws: The reason why the socket cannot be opened.
    static func open(_ context: ServerContext, _ operations: OperationsSubsystem) async throws -> ControlSubsystem {
        guard let path = context.configuration.control else { return ControlSubsystem(server: nil) }
        do {
            return ControlSubsystem(
                server: try await ControlServer.open(
                    path: path, operations: operations.operations, journal: operations.journal,
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
