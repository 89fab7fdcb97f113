import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import ExternalProcess

@Suite("The Python example", .enabled(if: PythonAuthenticator.interpreter != nil, "there is no python3 here"))
struct PythonExampleTests {
    private func withExample(_ body: (String) async throws -> Void) async throws {
        let directory = try TestFiles()
        let users = directory.path + "/users.json"
        try PythonAuthenticator.add("alice", password: "correct horse", groups: ["dispatch"], to: users)
        try PythonAuthenticator.add("bob", password: "pass wörd \u{1F40E}", groups: [], to: users)
        let example = try PythonAuthenticator(users: users, socket: directory.socket)
        try await body(directory.socket)
        withExtendedLifetime(example) {}
    }

    @Test("It accepts valid logins and rejects others")
    func logins() async throws {
        try await withExample { socket in
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

    @Test("It passes the conformance run")
    func conformance() async throws {
        try await withExample { socket in
            let run = ExternalProcessConformance(
                socket: socket, maximumWait: .seconds(30),
                login: .init(user: "alice", password: Secret("correct horse".utf8)))
            var results: [ConformanceResult] = []
            let isGood = await run.run { results.append($0) }
            #expect(results.filter { !$0.hasPassed }.map(\.description) == [])
            #expect(isGood)
            #expect(results.count > 30)
        }
    }
}
