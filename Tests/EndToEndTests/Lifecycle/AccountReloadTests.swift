import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport
import GatewayTesting
import HMACToken
import NotifyBackend
import StaticUsers
import Synchronization
import Testing

@Suite("Accounts and reloads of a running gateway", .timeLimit(.minutes(5)))
struct AccountReloadTests {
    /// An authenticator that accepts every password once the test releases it.
    private final class HeldAuthenticator: Authenticator {
        let state = AwaitableValue((waiting: 0, isReleased: false))

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            guard case .password(let login, _) = credential, let user = UserName(canonical: login.text) else {
                return .notMine
            }
            state.withLock { $0.waiting += 1 }
            await state.wait { $0.isReleased }
            return .accepted(Identity(user: user, authenticator: HeldPlugin.name))
        }
    }

    /// A plug-in with this authenticator.
    private enum HeldPlugin: AuthenticatorPlugin {
        static let name: PluginName = "held"
        static let credentialKinds: Set<CredentialKind> = [.password]
        static let accountStatusSupport = AccountStatusSupport.loginsOnly
        static let held = HeldAuthenticator()

        static func readSettings(_ reader: ConfigurationReader) -> Bool? { true }
        static func problems(in settings: Bool, context: PluginContext) async -> [ConfigurationProblem] { [] }
        static func makeAuthenticator(_ settings: Bool, context: PluginContext) async throws -> any Authenticator {
            held
        }
    }

    /// Sends a command to the gateway. Returns its results.
    private static func perform(_ command: String, in directory: TestFiles) async throws -> [JSONValue] {
        let items = Mutex<[JSONValue]>([])
        let fault = try await OperatorClient(path: directory.path + "/control.sock").perform(ControlRequest(command)) {
            item in items.withLock { $0.append(item) }
        }
        if let fault { throw fault }
        return items.withLock(\.self)
    }

    private static func warnings(_ items: [JSONValue]) -> [String] { items.compactMap { $0["message"]?.string } }

    @Test("A login that is held while a reload removes its authenticator starts no session and binds no device")
    func heldLogin() async throws {
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        func text(_ authenticator: String) -> String {
            ConfiguredGateway.preamble + "authenticators: [\(authenticator)hmac-token: { keys: token-keys.yaml } }]\n"
        }
        let catalog = PluginCatalog([HeldPlugin.self, StaticUsersPlugin.self, HMACTokenPlugin.self])
        let users = "{ static-users: { file: users.yaml, users: [bob] } }, { "
        try await ConfiguredGateway.start(
            text("{ held: {} }, " + users), in: directory, catalog: catalog
        ) { gateway in
            guard case .tcp(_, let port) = gateway.listeners.first else {
                throw GatewayUnderTest.StartFailure(description: "no listener")
            }
            let client = try RawClient(port: port)
            async let token = client.call("POST", "/auth/token", as: "alice")
            async let device = client.call(
                "PUT", "/api/register/1-2-3", as: "carol",
                body: #"{"Platform":"apns","Handle":"\#(String(repeating: "A", count: 64))","Tags":[]}"#)
            await HeldPlugin.held.state.wait { $0.waiting == 2 }
            try directory.write(text(users), to: "gateway.yaml")
            _ = try await Self.perform("reload", in: directory)
            HeldPlugin.held.state.withLock { $0.isReleased = true }
            #expect(try await token.status == 503)
            #expect(try await device.status == 503)
            #expect(try await Self.perform("tokens list", in: directory).isEmpty)
            #expect(try await client.call("POST", "/auth/token", as: "alice").status == 401)
            #expect(try await client.call("POST", "/auth/token", as: "bob").status == 200)
        }
    }

    /// Forty users. The password of each filler is that of carol.
    private static let fillers = (0..<36).map { number in
        "  user-\(number): { hash: \"$5$rounds=1000$carol$RxqPFyk2Jn8csCSPNDvlLZKuLJDMKnrdIOImgci780B\" }\n"
    }
    private static let users =
        "users:\n" + fillers.joined() + GatewayUnderTest.users.replacing("users:\n", with: "")

    @Test("A users file that stays half-written ends nobody, until an operator says so")
    func halfWritten() async throws {
        try await ReloadingGateway.run(backend: "http://127.0.0.1:1") { gateway in
            try gateway.directory.write(Self.users, to: "users.yaml")
            _ = try await Self.perform("reload", in: gateway.directory)
            let client = try RawClient(port: gateway.port)
            let login = try await client.call("POST", "/auth/token", as: "alice")
            let object = try JSONSerialization.jsonObject(with: Data(login.body)) as? [String: Any]
            let token = try #require(object?["access_token"] as? String)
            func write(_ text: String) throws {
                let handle = try FileHandle(
                    forWritingTo: URL(fileURLWithPath: gateway.directory.path + "/users.yaml"))
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: Data(text.utf8))
                try handle.close()
            }
            /// Reloads until the file counts. Each reload is a look at the file.
            func settle() async throws -> Int {
                for count in 0..<100 {
                    let messages = Self.warnings(try await Self.perform("reload", in: gateway.directory))
                    if !messages.contains(where: { $0.contains("in the middle of a write") }) { return count }
                }
                throw GatewayUnderTest.StartFailure(description: "the file does not settle")
            }
            let half = "users:\n" + Self.fillers.prefix(18).joined()
            try write(half)
            let first = Self.warnings(try await Self.perform("reload", in: gateway.directory))
            #expect(first.contains { $0.contains("from 22 users") })
            // Meanwhile nothing has changed.
            #expect(try await client.call("POST", "/auth/token", token: token).status == 200)
            #expect(try await settle() > 0)
            // The file counts now, but so many users do not end at once.
            #expect(try await client.call("GET", "/auth/whoami", token: token).status == 200)
            #expect(try await client.call("POST", "/auth/token", token: token).status == 503)
            try write(Self.users)
            _ = try await Self.perform("reload", in: gateway.directory)
            #expect(try await client.call("POST", "/auth/token", token: token).status == 200)
            #expect(try await client.call("POST", "/auth/token", as: "alice").status == 200)
            try write(half)
            _ = try await settle()
            #expect(try await client.call("GET", "/auth/whoami", token: token).status == 200)
            let waiting = try await Self.perform("accounts list", in: gateway.directory)
            #expect(waiting.count == 22 && waiting.contains { $0["user"]?.string == "alice" })
            let applied = try await Self.perform("accounts apply", in: gateway.directory)
            #expect(applied.first?["ended"]?.integer == 22)
            #expect(try await Self.perform("accounts list", in: gateway.directory).isEmpty)
            _ = try await Self.perform("reload", in: gateway.directory)
            #expect(try await client.call("GET", "/auth/whoami", token: token).status == 401)
        }
    }
}
