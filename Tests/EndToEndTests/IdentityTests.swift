import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import GatewayTesting
import Logging
import StaticUsers
import Testing

@testable import NotifyBackend

@Suite("Names and tags")
struct IdentityTests {
    private static let catalog = PluginCatalog([StaticUsersPlugin.self])

    /// Runs a gateway with the files in the directory until the body returns.
    private func serve(
        _ directory: TestFiles, strip: String, accepting: Bool = false, _ body: (RawClient) async throws -> Void
    ) async throws {
        try directory.write(
            """
            listen: [{ address: "127.0.0.1:0" }]
            admin: { address: "127.0.0.1:0" }
            backend: { url: embedded }
            authenticators: [{ static-users: { file: users.yaml } }]
            identity: { strip: [\(strip)] }
            policy: { send: [{ from: "*", to: "*" }] }
            journal: { directory: journal, minimum-free: 0 }
            ledger: { file: ledger.sqlite }
            control: ~
            """, to: "gateway.yaml")
        let (configuration, problems) = ConfigurationFile.load(
            directory.path + "/gateway.yaml", catalog: Self.catalog)
        let read = try #require(configuration, "\(problems)")
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await ServiceRunner.run { started in
            try await GatewayServer(
                configuration: read, logger: logger, permitting: accepting ? .identityChange : []
            ) { started($0) }.run()
        } whileRunning: { (gateway: StartedGateway) in
            guard case .tcp(_, let port)? = gateway.listeners.first else { throw ServiceRunner.NotStarted() }
            try await body(RawClient(port: port))
        }
    }

    @Test("A gateway with changed identity rules starts only with the option, and `check` reports the change")
    func identityChange() async throws {
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try await serve(directory, strip: "") { client in
            let alices = try await client.register("alice", "apns", String(repeating: "A1", count: 32))
            let bobs = try await client.register("bob", "apns", String(repeating: "B0", count: 32))
            #expect(alices.status == 200 && bobs.status == 200)
        }
        // The same rules are not a change.
        try await serve(directory, strip: "") { _ in }

        let strip = #""@example.com", 'AL\'"#
        let refused = await #expect(throws: ConfigurationError.self) {
            try await serve(directory, strip: strip) { _ in Issue.record("it started") }
        }
        #expect(refused?.description.contains("--accept-identity-change") == true)
        let check = try await Program.run(["check", "--config", "gateway.yaml"], in: directory.path)
        #expect(check.status == 1)
        #expect(check.output.contains("its names were made with another \"identity\""), "\(check.output)")
        let program = try await Program.run(["serve", "--config", "gateway.yaml"], in: directory.path)
        #expect(program.status == 1 && program.errors.contains("--accept-identity-change"), "\(program.errors)")

        try await serve(directory, strip: strip, accepting: true) { client in
            let who = try await client.call("GET", "/auth/whoami", as: "alice")
            #expect(who.status == 200)
        }
        // The gateway stores the accepted rules, so the next start needs no option.
        try await serve(directory, strip: strip) { _ in }
        #expect(try await Program.run(["check", "--config", "gateway.yaml"], in: directory.path).status == 0)
        _ = await #expect(throws: ConfigurationError.self) { try await serve(directory, strip: "") { _ in } }
    }

    /// Two users with different canonical names never share a tag at the hub.
    @Test("A send to one canonical name reaches no device of another user", .timeLimit(.minutes(2)))
    func noTwoNamesShareATag() throws {
        var random = SplitMix(seed: 31)
        let hub = NotificationHub()
        var devices: [UserName: String] = [:]
        for number in 0..<1500 {
            let rules = NameRules(
                prefixes: ["example\\"], suffixes: ["@example.com"],
                escaping: Bool.random(using: &random) ? .hex : .refuse)
            // The names are spellings of a few names, and random Unicode names.
            let base =
                Bool.random(using: &random)
                ? [
                    "alice", "ALICE", "example\\alice", "alice@example.com", "al_x69ce", "ａlice", "alicé",
                    "alice\u{301}",
                ]
                .randomElement(using: &random)! : random.text(upTo: 8)
            guard let user = rules.canonical(LoginName(base)) else { continue }
            if devices[user] == nil {
                let handle = "device-\(number)-of-its-own"
                devices[user] = handle
                try hub.upsert(
                    id: "\(number)-1-1", platform: "gcm", handle: handle, tags: ["username:" + user.text])
            }
        }
        #expect(devices.count > 300)
        for user in devices.keys {
            _ = try hub.send(user.text, pns: "gcm", to: "username:" + user.text + "||from:alice")
        }
        for (user, handle) in devices {
            #expect(hub.inbox(ofHandle: handle).map(\.payload) == [user.text])
        }
    }
}
