public import ArgumentParser
import GatewayConfiguration
import GatewayServer
import Logging
public import NotifyBackend

/// `backend`: runs the embedded backend alone, for tests of a gateway over a socket.
struct BackendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backend", abstract: "Run only the embedded notify-users backend, on loopback.",
        discussion: """
            Like the backends that the gateway protects, it accepts a login if user and password are the same. GET \
            /inbox/{handle} lists what a device received, GET /registrations who is registered.

            Example: notify-gateway backend --profile classic --port 5000
            """)

    @Option(help: "The backend to imitate: classic, core or net6.")
    var profile: BackendFlavor = .classic

    @Option(help: "The port on 127.0.0.1; for 0 the system assigns one.")
    var port = 5000

    func run() async throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port takes 0 to 65535.") }
        let logger = Logger.server(.init(level: .notice, format: .text))
        let backend = EmbeddedBackend(flavor: profile, port: port, logger: logger) { port in
            Console.printMessage("The \(profile.rawValue) backend listens on http://127.0.0.1:\(port)")
        }
        do {
            try ListenAddress.tcp(host: "127.0.0.1", port: port).requireFree()
            try await EmbeddedBackendRun(backend, logger: logger).run()
        } catch let fault as ListenAddressError {
            throw CommandFailure.refused(fault.description)
        } catch {
            throw CommandFailure.unavailable("The backend stopped: \(OperatorMessage.of(error))")
        }
    }
}

extension BackendFlavor: ExpressibleByArgument {}
