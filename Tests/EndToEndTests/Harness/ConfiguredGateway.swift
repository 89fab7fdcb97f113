import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import GatewayTesting
import Logging

/// A gateway within the test process, started with a configuration that the test supplies.
enum ConfiguredGateway {
    /// The sections that each configuration starts with: ports that the system chooses, no rate limits, an unreachable
    /// backend, and stores in the directory of the test.
    static let preamble = """
        listen: [{ address: "127.0.0.1:0" }]
        admin: { address: "127.0.0.1:0" }
        control: control.sock
        backend: { url: "http://127.0.0.1:1", profile: classic }
        policy: { send: [{ from: "*", to: "*" }] }
        limits: []
        journal: { directory: journal, minimum-free: 0 }
        ledger: { file: ledger.sqlite }

        """

    /// Runs the body with a gateway that is configured by the preamble and the text. The body receives the port.
    static func run<Result: Sendable>(
        _ text: String, in directory: TestFiles, catalog: PluginCatalog, clocks: Clocks = .system,
        _ body: (Int) async throws -> Result
    ) async throws -> Result {
        try await start(preamble + text, in: directory, catalog: catalog, clocks: clocks) { gateway in
            guard case .tcp(_, let port) = gateway.listeners.first else {
                throw GatewayUnderTest.StartFailure(description: "no listener")
            }
            return try await body(port)
        }
    }

    /// Runs the body with a gateway that is configured by the complete text. The body receives its listeners.
    static func start<Result: Sendable>(
        _ text: String, in directory: TestFiles, catalog: PluginCatalog, clocks: Clocks = .system,
        _ body: (StartedGateway) async throws -> Result
    ) async throws -> Result {
        let (configuration, problems) = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: directory.path, catalog: catalog)
        guard let configuration else { throw GatewayUnderTest.StartFailure(description: "\(problems)") }
        // A reload reads this file, which the test may replace.
        let source = ConfigurationSource(file: try directory.write(text, to: "gateway.yaml"), catalog: catalog)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try await ServiceRunner.run { started in
            try await GatewayServer(configuration: configuration, from: source, logger: logger, clocks: clocks) {
                started($0)
            }
            .run()
        } whileRunning: { (gateway: StartedGateway) in
            try await body(gateway)
        }
    }
}
