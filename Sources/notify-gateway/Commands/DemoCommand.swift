import ArgumentParser
import Foundation
import GatewayCore
import GatewayServer
import Logging
import NotifyBackend
import StaticUsers

/// `demo`: the whole of it in a temporary directory, with the embedded backend behind.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Run the gateway in front of the embedded backend, with users alice and bob.",
        discussion: """
            Everything lies in a temporary directory that is removed at the end. The passwords are the users' names, so that the
            tutorial's own clients can be tried against it; that is why it listens to this machine only.

            Example: notify-gateway demo --listen 127.0.0.1:8080
            """)

    @Option(help: "Where to listen: an address of this machine and a port; port 0 takes any.")
    var listen = "127.0.0.1:8080"

    @Option(help: "Whose quirks the backend has: classic, core or net6.")
    var profile: BackendFlavor = .classic

    func validate() throws {
        guard let address = Self.address(listen), address.isLocal else {
            throw ValidationError(
                "--listen \(listen) is no address of this machine and a port, such as 127.0.0.1:8080 or localhost:8080."
            )
        }
    }

    /// The address, with the name that every machine has for itself.
    private static func address(_ text: String) -> ListenAddress? {
        ListenAddress(text.hasPrefix("localhost:") ? "127.0.0.1:" + text.dropFirst(10) : text)
    }

    func run() async throws {
        let address = Self.address(listen)?.description ?? listen
        let directory: DemoDirectory
        do {
            directory = try DemoDirectory(listen: address, profile: profile.rawValue)
        } catch {
            throw CommandFailure.refused("The demo has no files to run with: \(OperatorMessage.of(error))")
        }
        defer { directory.remove() }
        let (configuration, problems) = ConfigurationFile.load(directory.configurationPath, catalog: .all)
        guard let configuration else { throw ValidationError(problems.map(\.description).joined(separator: "\n")) }
        let server = GatewayServer(configuration: configuration, logger: .server(configuration.log)) { started in
            // It runs on where nobody reads how to use it.
            try? Console.say(DemoGuide(started: started, directory: directory.path).text)
        }
        try await server.runReportingProblems()
    }
}
