import GatewayCore
import GatewayServer
import GatewayTesting
import Logging

/// A gateway in this process, of a configuration that the test writes itself, for the time of one test.
enum ConfiguredGateway {
    /// What every configuration of these tests begins with: ports of the system's choice, no limits of calls, a backend that
    /// is not there, stores in the test's directory.
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

    /// Runs the body with the gateway of the preamble and the text, and tells it the port.
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

    /// Runs the body with the gateway of a whole configuration, and tells it where that can be reached.
    static func start<Result: Sendable>(
        _ text: String, in directory: TestFiles, catalog: PluginCatalog, clocks: Clocks = .system,
        _ body: (StartedGateway) async throws -> Result
    ) async throws -> Result {
        let (configuration, problems) = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: directory.path, catalog: catalog)
        guard let configuration else { throw GatewayUnderTest.StartFailure(description: "\(problems)") }
        // What the test puts in its place later is what a reload reads.
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
