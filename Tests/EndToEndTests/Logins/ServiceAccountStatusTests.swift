import ExternalProcess
import ForwardAuth
import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewayTesting
import HMACToken
import NotifyBackend
import Testing

@Suite("Accounts that only a service knows", .timeLimit(.minutes(2)))
struct ServiceAccountStatusTests {
    /// A gateway whose accounts a service knows.
    private struct Setup {
        let client: RawClient
        let hub: NotificationHub
        let directory: TestFiles

        /// Rechecks all accounts, by a reload. Returns before the recheck is complete.
        func recheck() async throws {
            let fault = try await OperatorClient(path: directory.path + "/control.sock")
                .perform(ControlRequest("reload")) { _ in }
            #expect(fault == nil)
        }

        func login(_ user: String) async throws -> String {
            let answer = try await client.call("POST", "/auth/token", as: user)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
            return try #require(object["access_token"] as? String, "\(answer.text)")
        }

        func status(of token: String) async throws -> Int {
            try await client.call("GET", "/auth/whoami", token: token).status
        }

        /// Waits for a journal record.
        func record(_ fits: ([String: Any]) -> Bool) async throws {
            try await JournalChanges(in: directory).first {
                try GatewayUnderTest.journal(in: directory).first(where: fits)
            }
        }
    }

    private func run(
        _ service: some AccountService, in directory: TestFiles, _ body: (Setup) async throws -> Void
    ) async throws {
        let hub = NotificationHub()
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        let catalog = PluginCatalog([ForwardAuthPlugin.self, ExternalProcessPlugin.self, HMACTokenPlugin.self])
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { backend in
            let text =
                ConfiguredGateway.preamble.replacing("127.0.0.1:1\"", with: "127.0.0.1:\(backend)\"")
                + "authenticators: [{ \(service.authenticator) }, { hmac-token: { keys: token-keys.yaml } }]\n"
            try await ConfiguredGateway.start(text, in: directory, catalog: catalog) { gateway in
                guard case .tcp(_, let port) = gateway.listeners.first else {
                    throw GatewayUnderTest.StartFailure(description: "no listener")
                }
                try await body(Setup(client: try RawClient(port: port), hub: hub, directory: directory))
            }
        }
        await service.stop()
    }

    /// Ends one of two accounts, and takes the service away afterwards.
    private func losesAtTwoRechecks(_ service: some AccountService, in directory: TestFiles) async throws {
        try await run(service, in: directory) { setup in
            let handles = [String(repeating: "AC", count: 32), String(repeating: "BD", count: 32)]
            for (user, handle) in zip(["alice", "bob"], handles) {
                #expect(try await setup.client.register(user, "apns", handle).status == 200)
            }
            let (alice, bob) = (try await setup.login("alice"), try await setup.login("bob"))
            #expect(try await setup.client.call("POST", "/auth/token", token: alice).status == 200)
            try service.remove("alice")
            // No session is renewed any more, even before the recheck.
            #expect(try await setup.client.call("POST", "/auth/token", token: alice).status == 401)
            try await setup.recheck()
            try await setup.record { $0["result"] as? String == "account-ended" && $0["session"] != nil }
            #expect(try await setup.status(of: alice) == 401)
            #expect(setup.hub.registrations().count == 2)
            try await setup.recheck()
            try await setup.record { $0["rule"] as? String == "revoked" && $0["kind"] as? String == "outcome" }
            #expect(setup.hub.registrations().map(\.handle) == [handles[1]])
            #expect(try await setup.status(of: bob) == 200)
            #expect(try await setup.client.call("POST", "/auth/token", token: bob).status == 200)
            // A service that is away ends nothing.
            await service.stop()
            try await setup.recheck()
            let renewal = try await setup.client.call("POST", "/auth/token", token: bob)
            #expect(renewal.status == 503 && renewal.problem == "authenticator-unavailable")
            #expect(try await setup.status(of: bob) == 200)
            #expect(setup.hub.registrations().count == 1)
        }
    }

    @Test("forward-auth: an ended account loses its sessions, and its devices at the second recheck")
    func forwardAuth() async throws {
        try await losesAtTwoRechecks(try await HTTPAccountService.start(), in: try TestFiles())
    }

    @Test(
        "external-process: an ended account loses its sessions, and its devices at the second recheck",
        .enabled(if: PythonAccountService.interpreter != nil, "there is no python3 here"))
    func externalProcess() async throws {
        let directory = try TestFiles()
        try await losesAtTwoRechecks(try PythonAccountService(["alice", "bob"], in: directory), in: directory)
    }

    @Test(
        "`plugin test --login` tries a login that must succeed, and without it reports no such check",
        .enabled(if: PythonAccountService.interpreter != nil, "no python3"))
    func conformance() async throws {
        let directory = try TestFiles()
        let service = try PythonAccountService(["alice"], in: directory)
        func test(_ more: String..., input: String = "") async throws -> Program.Outcome {
            try await Program.run(["plugin", "test", "auth.sock"] + more, input: input, in: directory.path)
        }
        let good = try await test("--login", "alice", "--account", "alice=valid", input: "alice\n")
        #expect(good.status == 0 && good.output.contains("ok      accepts the given login"), "\(good)")
        let wrong = try await test("--login", "alice", input: "other\n")
        #expect(wrong.status == 1 && wrong.output.contains("FAILED  accepts the given login"), "\(wrong)")
        let without = try await test()
        #expect(without.status == 0 && !without.output.contains("given login"), "\(without)")
        await service.stop()
    }

    @Test("If many accounts seem to have ended at once, or the service fails, nothing is revoked")
    func brake() async throws {
        let service = try await HTTPAccountService.start()
        try await run(service, in: try TestFiles()) { setup in
            let users = (0..<12).map { "user-\($0)" }
            var tokens: [String] = []
            for user in users { tokens.append(try await setup.login(user)) }
            func expectNothingRevoked() async throws {
                for token in tokens { #expect(try await setup.status(of: token) == 200) }
            }
            for user in users { service.remove(user) }
            // Rechecks follow one another: the first is over as soon as the second has queried an account.
            for round in 1...2 {
                try await setup.recheck()
                await service.waitForQueries(12 * round)
            }
            try await expectNothingRevoked()
            service.set(.failing)
            for round in 3...4 {
                try await setup.recheck()
                await service.waitForQueries(12 * round)
            }
            try await expectNothingRevoked()
        }
    }

    @Test("While the service responds to no status query, tokens and logins work")
    func slow() async throws {
        let service = try await HTTPAccountService.start()
        try await run(service, in: try TestFiles()) { setup in
            let token = try await setup.login("alice")
            service.set(.silent)
            try await setup.recheck()
            await service.waitForQueries(1)
            let start = ContinuousClock.now
            for number in 0..<20 {
                #expect(try await setup.status(of: token) == 200)
                #expect(try await setup.client.call("GET", "/auth/whoami", as: "user-\(number)").status == 200)
            }
            // A query in the way of a call would take the configured minute.
            #expect(ContinuousClock.now - start < .seconds(30))
            // The gateway stops as soon as the pending queries have ended.
            await service.stop()
        }
    }
}
