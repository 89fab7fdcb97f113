import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport
import GatewayTesting
import HMACToken
import StaticUsers

/// A gateway within the test process whose configuration changes while it serves.
struct ReloadingGateway {
    let directory: TestFiles
    let port: Int
    /// The value of `backend`.
    private let upstream: String

    static let sendsAllowed = #"policy: { send: [{ from: "*", to: "*" }], tags: [{ user: "*", allow: ["*"] }] }"#
    static let sendsRefused = #"policy: { send: [{ from: "bob", to: "carol" }] }"#

    /// Returns the value of `backend` for one backend.
    private static func single(_ url: String) -> String { "{ url: \"\(url)\" }" }

    /// Returns the complete text of a configuration with one backend.
    static func text(backend: String, _ policy: String = sendsAllowed, more: String = "") -> String {
        text(upstream: single(backend), policy, more: more)
    }

    /// Returns the complete text of a configuration.
    static func text(upstream: String, _ policy: String = sendsAllowed, more: String = "") -> String {
        """
        listen: [{ address: "127.0.0.1:0" }]
        admin: { address: "127.0.0.1:0" }
        control: control.sock
        backend: \(upstream)
        authenticators:
          - static-users: { file: users.yaml }
          - hmac-token: { keys: token-keys.yaml }
        limits: []
        journal: { directory: journal, minimum-free: 0 }
        ledger: { file: ledger.sqlite }
        \(policy)
        \(more)
        """
    }

    /// Runs the body with a gateway in front of the backend.
    static func run<Result: Sendable>(
        backend: String, _ body: (ReloadingGateway) async throws -> Result
    ) async throws -> Result {
        try await run(upstream: single(backend), body)
    }

    /// Runs the body with a gateway whose configuration has this value of `backend`.
    static func run<Result: Sendable>(
        upstream: String, _ body: (ReloadingGateway) async throws -> Result
    ) async throws -> Result {
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        let catalog = PluginCatalog([StaticUsersPlugin.self, HMACTokenPlugin.self])
        return try await ConfiguredGateway.start(text(upstream: upstream), in: directory, catalog: catalog) { gateway in
            guard case .tcp(_, let port) = gateway.listeners.first else {
                throw GatewayUnderTest.StartFailure(description: "no listener")
            }
            return try await body(ReloadingGateway(directory: directory, port: port, upstream: upstream))
        }
    }

    /// Writes the configuration with another policy, other sections or another backend.
    func write(_ policy: String = sendsAllowed, more: String = "", backend other: String? = nil) throws {
        try write(policy, more: more, upstream: other.map(Self.single) ?? upstream)
    }

    /// Writes the configuration with another value of `backend`.
    func write(_ policy: String = sendsAllowed, more: String = "", upstream: String) throws {
        try directory.write(Self.text(upstream: upstream, policy, more: more), to: "gateway.yaml")
    }

    /// Reloads the configuration. Returns whether the gateway accepted it, and the errors.
    func reload() async throws -> (isTaken: Bool, problems: [String]) {
        var problems: [String] = []
        let fault = try await OperatorClient(path: directory.path + "/control.sock").perform(ControlRequest("reload")) {
            guard $0["severity"]?.string == "error" else { return }
            problems.append("\($0["path"]?.string ?? ""): \($0["message"]?.string ?? "")")
        }
        return (fault == nil, problems)
    }
}
