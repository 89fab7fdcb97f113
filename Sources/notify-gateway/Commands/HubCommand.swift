import ArgumentParser
import Gateway
import GatewayConfiguration
import GatewayServer
import GatewaySupport
import Logging
import NotifyBackend

/// `hub`: runs the embedded notification hub alone, for tests of a gateway that uses a hub without a backend.
struct HubCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub", abstract: "Run only the embedded notification hub, on loopback.",
        discussion: """
            It has the REST interface of Azure Notification Hubs for registrations and notifications, keeps everything in \
            memory, and delivers to inboxes: GET /inbox/{handle} lists what a device received, GET /registrations who is \
            registered. It prints a connection string for each right; the keys are new at each start.

            Example: notify-gateway hub --port 5600
            """)

    @Option(help: "The name of the hub.")
    var name = "demo"

    @Option(help: "The port on 127.0.0.1; for 0 the system assigns one.")
    var port = 5600

    func run() async throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port takes 0 to 65535.") }
        guard HubSettings.isName(name) else { throw ValidationError("--name takes letters, digits, . _ and -.") }
        let logger = Logger.server(.init(level: .notice, format: .text))
        let keys: [(name: String, key: String, rights: Set<HubAccess.Right>)] = [
            ("ListenSend", Self.newKey(), [.listen, .send]), ("Listen", Self.newKey(), [.listen]),
            ("Send", Self.newKey(), [.send]), ("Manage", Self.newKey(), [.manage]),
        ]
        let access = HubAccess(
            hub: name,
            policies: keys.map { HubAccess.Policy(name: $0.name, key: Secret($0.key.utf8), rights: $0.rights) })
        let hub = EmbeddedBackend(access: access, port: port, logger: logger) { [name] port in
            let strings = keys.map {
                "Endpoint=sb://127.0.0.1:\(port)/;SharedAccessKeyName=\($0.name);SharedAccessKey=\($0.key)"
            }
            Console.printMessage("The hub \(name) listens on http://127.0.0.1:\(port)")
            // The hub keeps running even if its keys cannot be printed.
            try? Console.printResult(strings.joined(separator: "\n"))
        }
        do {
            try ListenAddress.tcp(host: "127.0.0.1", port: port).requireFree()
            try await EmbeddedBackendRun(hub, logger: logger).run()
        } catch let fault as ListenAddressError {
            throw CommandFailure.refused(fault.description)
        } catch {
            throw CommandFailure.unavailable("The hub stopped: \(OperatorMessage.of(error))")
        }
    }

    /// Returns a new key of 32 random bytes in Base64, as Azure generates them.
    private static func newKey() -> String {
        String(decoding: Base64.encode(RandomBytes.make(32), .standard), as: UTF8.self)
    }
}
