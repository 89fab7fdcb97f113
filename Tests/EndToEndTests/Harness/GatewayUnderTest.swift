import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewayTesting
import HMACToken
import Logging
import NotifyBackend
import StaticUsers

/// A gateway in front of an embedded backend, in a directory of its own, for the duration of one test.
struct GatewayUnderTest {
    let client: RawClient
    let adminPort: Int
    let hub: NotificationHub
    let seen: SeenRequests
    let directory: TestFiles

    /// The requests that the backend received, in order.
    final class SeenRequests: Sendable {
        private let requests = AwaitableValue<[RequestSummary]>([])

        var all: [RequestSummary] { requests.current }

        func add(_ request: RequestSummary) { requests.withLock { $0.append(request) } }

        /// Waits for the requests by which a gateway asks a hub, at its start, which rights its key has, and discards
        /// them.
        func discardRightsTest() async {
            await requests.wait { $0.last?.target.hasSuffix("/registrations?api-version=2020-06&$top=1") == true }
            requests.withLock { $0.removeAll() }
        }
    }

    /// Each password equals the user name, so that the tutorial's clients can log in.
    static let users = """
        users:
          alice: { hash: "$5$rounds=1000$alice$20.kuhUgjZX.hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3" }
          bob: { hash: "$5$rounds=1000$bob$cr6R9EWEuhFKkx1neuJY8.iqd.V7.VzOb7/ApSr1wV0", groups: [staff] }
          carol: { hash: "$5$rounds=1000$carol$RxqPFyk2Jn8csCSPNDvlLZKuLJDMKnrdIOImgci780B" }
          eve: { hash: "$5$rounds=1000$eve$yaZS2lnwniOjIWirFa7bClYgF96QEeE/twUZ0QW7B3C" }

        """

    /// Returns random bytes in base64, the format of a token key.
    static func secret(_ count: Int = 32) -> String {
        Data((0..<count).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
    }

    static let keys = """
        keys:
          - { id: k1, algorithm: HS256, secret: "\(secret())" }

        """

    static let policy = """
        policy:
          send:
            - { from: "*", to: "*" }
          tags:
            - { user: "*", allow: ["topic:*", "myTag"] }

        """

    /// Runs the body with a gateway in front of an upstream.
    static func run<Result: Sendable>(
        _ upstream: TestUpstream = .classic, policy: String = policy, more: String = "", keys: String = keys,
        listen: String = "127.0.0.1:0",
        _ body: (GatewayUnderTest) async throws -> Result
    ) async throws -> Result {
        let hub = NotificationHub()
        let seen = SeenRequests()
        return try await runUpstream(upstream, hub: hub, seen: seen) { port in
            try await run(
                upstream, at: port, policy: policy, more: more, keys: keys, listen: listen, hub: hub, seen: seen
            ) { gateway in
                if upstream == .hub { await seen.discardRightsTest() }
                return try await body(gateway)
            }
        }
    }

    /// Runs the body with an upstream and without a gateway. The body receives the upstream's port.
    private static func runUpstream<Result: Sendable>(
        _ upstream: TestUpstream, hub: NotificationHub, seen: SeenRequests, _ body: (Int) async throws -> Result
    ) async throws -> Result {
        guard upstream == .hub else { return try await runBackend(upstream.flavor, hub: hub, seen: seen, body) }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try await ServiceRunner.run { started in
            let backend = EmbeddedBackend(
                access: TestUpstream.access, hub: hub, logger: logger, onListening: { started($0) },
                onRequest: { seen.add($0) })
            try await backend.run()
        } whileRunning: {
            try await body($0)
        }
    }

    /// Runs the body with an embedded backend of the flavor and without a gateway.
    static func runBackend<Result: Sendable>(
        _ flavor: BackendFlavor, hub: NotificationHub, seen: SeenRequests = SeenRequests(),
        _ body: (Int) async throws -> Result
    ) async throws -> Result {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try await ServiceRunner.run { started in
            let backend = EmbeddedBackend(
                flavor: flavor, hub: hub, logger: logger, onListening: { started($0) }, onRequest: { seen.add($0) })
            try await backend.run()
        } whileRunning: {
            try await body($0)
        }
    }

    /// Runs the body with a gateway in front of an upstream, and with a client that bypasses the gateway.
    static func run<Result: Sendable>(
        _ upstream: TestUpstream, hub: NotificationHub, policy: String = policy, more: String = "",
        _ body: (GatewayUnderTest, RawClient) async throws -> Result
    ) async throws -> Result {
        let seen = SeenRequests()
        return try await runUpstream(upstream, hub: hub, seen: seen) { port in
            guard upstream == .hub else {
                let direct = try RawClient(port: port)
                return try await run(upstream, at: port, policy: policy, more: more, hub: hub, seen: seen) {
                    try await body($0, direct)
                }
            }
            return try await runBackend(upstream.flavor, hub: hub, seen: seen) { directPort in
                let direct = try RawClient(port: directPort)
                return try await run(upstream, at: port, policy: policy, more: more, hub: hub, seen: seen) {
                    await seen.discardRightsTest()
                    return try await body($0, direct)
                }
            }
        }
    }

    /// Returns the first matching record. Waits for it, because the gateway writes outcomes asynchronously.
    @discardableResult
    func record(where fits: ([String: Any]) -> Bool) async throws -> [String: Any] {
        try await JournalChanges(in: directory).first { try journal().first(where: fits) }
    }

    /// Runs the body with a gateway in front of an upstream that is already running at a port of 127.0.0.1.
    static func run<Result: Sendable>(
        _ upstream: TestUpstream, at port: Int, policy: String = policy, more: String = "", keys: String = keys,
        timeout: String = "65s", listen: String = "127.0.0.1:0", hub: NotificationHub = NotificationHub(),
        seen: SeenRequests = SeenRequests(), _ body: (GatewayUnderTest) async throws -> Result
    ) async throws -> Result {
        try await run(
            backendSettings: "\(upstream.settings(port: port)), timeout: \(timeout)", policy: policy, more: more,
            keys: keys, listen: listen, hub: hub, seen: seen, body)
    }

    /// Runs the body with a gateway in front of a backend that is already running.
    static func run<Result: Sendable>(
        backend url: String, profile: String = "classic", credential: String = "mirror", backendKeys: String = "",
        policy: String = policy, more: String = "",
        keys: String = keys, timeout: String = "65s", listen: String = "127.0.0.1:0", socket: String? = nil,
        hub: NotificationHub = NotificationHub(),
        seen: SeenRequests = SeenRequests(),
        _ body: (GatewayUnderTest) async throws -> Result
    ) async throws -> Result {
        try await run(
            backendSettings:
                "url: \"\(url)\", profile: \(profile), credential: \(credential), timeout: \(timeout)\(backendKeys)",
            policy: policy, more: more, keys: keys, listen: listen, socket: socket, hub: hub, seen: seen, body)
    }

    /// Runs the body with a gateway whose configuration has this value of `backend`.
    static func run<Result: Sendable>(
        upstreams: String, hub: NotificationHub, seen: SeenRequests, _ body: (GatewayUnderTest) async throws -> Result
    ) async throws -> Result {
        try await run(
            backendValue: upstreams, policy: policy, more: "", keys: keys, listen: "127.0.0.1:0", hub: hub, seen: seen,
            body)
    }

    private static func run<Result: Sendable>(
        backendSettings: String, policy: String, more: String, keys: String, listen: String, socket: String? = nil,
        hub: NotificationHub, seen: SeenRequests, _ body: (GatewayUnderTest) async throws -> Result
    ) async throws -> Result {
        try await run(
            backendValue: "{ \(backendSettings) }", policy: policy, more: more, keys: keys, listen: listen,
            socket: socket, hub: hub, seen: seen, body)
    }

    private static func run<Result: Sendable>(
        backendValue: String, policy: String, more: String, keys: String, listen: String, socket: String? = nil,
        hub: NotificationHub, seen: SeenRequests, _ body: (GatewayUnderTest) async throws -> Result
    ) async throws -> Result {
        let directory = try TestFiles()
        try directory.write(users, to: "users.yaml")
        try directory.write(keys, to: "token-keys.yaml")
        let text = """
            listen: [{ address: "\(socket.map { "unix:\($0)" } ?? listen)" }]
            admin: { address: "127.0.0.1:0" }
            control: control.sock
            backend: \(backendValue)
            authenticators:
              - static-users: { file: users.yaml }
              - hmac-token: { keys: token-keys.yaml, issuer: notify-gateway, audience: notify, lifetime: 1h }
            journal: { directory: journal, minimum-free: 0 }
            ledger: { file: ledger.sqlite }
            \(policy)
            \(more)
            """
        let catalog = PluginCatalog([StaticUsersPlugin.self, HMACTokenPlugin.self])
        return try await ConfiguredGateway.start(text, in: directory, catalog: catalog) { gateway in
            guard let listener = gateway.listeners.first, case .tcp(_, let adminPort) = gateway.admin else {
                throw StartFailure(description: "no listener")
            }
            let client =
                switch listener {
                case .tcp(_, let port): try RawClient(port: port)
                case .unix(let path): try RawClient(socket: path)
                }
            return try await body(
                GatewayUnderTest(
                    client: client, adminPort: adminPort, hub: hub, seen: seen, directory: directory))
        }
    }

    struct StartFailure: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns the records that the journal contains, in order.
    func journal() throws -> [[String: Any]] {
        try Self.journal(in: directory)
    }

    static func journal(in directory: TestFiles, _ name: String = "journal") throws -> [[String: Any]] {
        let folder = "\(directory.path)/\(name)"
        let segments = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".jsonl") }
        return try segments.sorted().flatMap { segment in
            // The filter drops a line that is still being written.
            try String(contentsOfFile: "\(folder)/\(segment)", encoding: .utf8).split(separator: "\n").filter {
                $0.hasPrefix("{\"seq\":") && $0.hasSuffix("\"}") && $0.contains("\",\"hash\":\"")
            }.map { line in
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
            }
        }
    }
}
