public import ArgumentParser
import GatewayServer
import Logging
public import NotifyBackend

/// `backend`: the embedded backend alone, to try the gateway against over a socket.
struct BackendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backend", abstract: "Run the embedded notify-users backend alone, on loopback.",
        discussion: """
            It is as trusting as the backends that the gateway stands in front of: a login is good when user and password are
            the same. GET /inbox/{handle} shows what a device received, GET /registrations who is registered.

            Example: notify-gateway backend --profile classic --port 5000
            """)

    @Option(help: "Whose quirks it has: classic, core or net6.")
    var profile: BackendFlavor = .classic

    @Option(help: "The port on 127.0.0.1; 0 takes any.")
    var port = 5000

    func run() async throws {
        guard (0...65535).contains(port) else { throw ValidationError("The port is from 0 to 65535.") }
        let logger = Logger.server(.init(level: .notice, format: .text))
        let backend = EmbeddedBackend(flavor: profile, port: port, logger: logger) { port in
            Console.complain("The \(profile.rawValue) backend listens on http://127.0.0.1:\(port)")
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
