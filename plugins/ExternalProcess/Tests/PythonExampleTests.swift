import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import ExternalProcess

@Suite("The Python example", .enabled(if: PythonAuthenticator.interpreter != nil, "there is no python3 here"))
struct PythonExampleTests {
    private func withExample(_ body: (_ socket: String, _ users: String) async throws -> Void) async throws {
        let directory = try TestFiles()
        let users = directory.path + "/users.json"
        try PythonAuthenticator.add("alice", password: "correct horse", groups: ["dispatch"], to: users)
        try PythonAuthenticator.add("bob", password: "pass wörd \u{1F40E}", groups: [], to: users)
        let example = try PythonAuthenticator(users: users, socket: directory.socket)
        try await body(directory.socket, users)
        withExtendedLifetime(example) {}
    }

    @Test("It accepts valid logins and rejects others")
    func logins() async throws {
        try await withExample { socket, _ in
            let settings = ExternalProcessPlugin.Settings(socket: socket, delegation: .init(timeout: .seconds(30)))
            #expect(await ExternalProcessPlugin.problems(in: settings, context: .test()) == [])
            let authenticator = try await ExternalProcessPlugin.makeAuthenticator(settings, context: .test())
            #expect(await authenticator.login("alice", "correct horse") == identity("alice", groups: ["dispatch"]))
            #expect(await authenticator.login("bob", "pass wörd \u{1F40E}") == identity("bob"))
            #expect(await authenticator.login("alice", "wrong") == .rejected(.wrong))
            #expect(await authenticator.login("nobody", "correct horse") == .rejected(.wrong))
            #expect(await authenticator.present("token") == .notMine)
        }
    }

    @Test("It reports the status of accounts, and notices a changed file")
    func accounts() async throws {
        try await withExample { socket, users in
            let settings = ExternalProcessPlugin.Settings(
                socket: socket, delegation: .init(timeout: .seconds(30)), reportsStatus: true)
            let authenticator = try await ExternalProcessPlugin.makeAuthenticator(settings, context: .test())
            let accounts = try #require(authenticator as? any AccountAuthenticator)
            let dispatch = try #require(GroupName("dispatch"))
            #expect(await accounts.status(of: LoginName("alice")) == .valid(groups: [dispatch]))
            #expect(await accounts.status(of: LoginName("nobody")) == .ended(.wrong))
            try PythonAuthenticator.run(["disable", users, "alice"])
            #expect(await accounts.status(of: LoginName("alice")) == .ended(.disabled))
            #expect(await accounts.login("alice", "correct horse") == .rejected(.disabled))
            #expect(await accounts.login("alice", "wrong") == .rejected(.wrong))
            try PythonAuthenticator.run(["remove", users, "alice"])
            #expect(await accounts.status(of: LoginName("alice")) == .ended(.wrong))
            #expect(await accounts.login("alice", "correct horse") == .rejected(.wrong))
            #expect(await accounts.status(of: LoginName("bob")) == .valid(groups: []))
        }
    }

    @Test("It passes the conformance run")
    func conformance() async throws {
        try await withExample { socket, users in
            try PythonAuthenticator.run(["disable", users, "bob"])
            let run = ExternalProcessConformance(
                socket: socket, maximumWait: .seconds(30),
                login: .init(user: "alice", password: Secret("correct horse".utf8)),
                accounts: ["alice=valid", "bob=disabled", "carol=absent"].compactMap(
                    ExternalProcessConformance.Account.init))
            var results: [ConformanceResult] = []
            let isGood = await run.run { results.append($0) }
            #expect(results.filter { !$0.hasPassed }.map(\.description) == [])
            #expect(isGood)
            #expect(results.count > 45)
            #expect(results.first?.check == "responds to the hello with version 2")
        }
    }
}
