import GatewayCore
import GatewayTesting
import NIOCore
import Testing

@testable import ExternalProcess

@Suite("external-process")
struct AuthenticatorTests {
    /// A process that accepts the password `good` for whomever it is asked about, or for another.
    private func withProcess(
        acceptsAs other: String? = nil, groups: String = "[]",
        kinds: Set<CredentialKind> = [.password, .bearer], context: PluginContext = .test(),
        _ body: (any Authenticator, ScriptedProcess) async throws -> Void
    ) async throws {
        let directory = try TestFiles()
        let process = try await ScriptedProcess.start(at: directory.socket) { request in
            guard (request.text("password") ?? request.text("token")) == "good" else {
                return [ScriptedProcess.verdict(on: request, #""verdict":"rejected","reason":"wrong""#)]
            }
            let user = other ?? request.text("user") ?? ""
            return [
                ScriptedProcess.verdict(
                    on: request, #""verdict":"accepted","user":\#(ConformanceRequest.quoted(user)),"groups":\#(groups)"#
                )
            ]
        }
        try directory.setMode(0o600, of: "socket")
        let settings = ExternalProcessPlugin.Settings(
            socket: directory.socket, delegation: .init(kinds: kinds, timeout: .seconds(60)))
        #expect(await ExternalProcessPlugin.problems(in: settings, context: context) == [])
        try await body(try await ExternalProcessPlugin.makeAuthenticator(settings, context: context), process)
        await process.stop()
    }

    @Test("a good password is accepted, a wrong one is not; groups that are none are left out")
    func passwords() async throws {
        try await withProcess(groups: #"["dispatch","no group!","Sales"]"#) { authenticator, process in
            #expect(await authenticator.login("alice", "good") == identity("alice", groups: ["dispatch", "Sales"]))
            #expect(await authenticator.login("alice", "bad") == .rejected(.wrong))
            #expect(process.requests.map { $0.text("peer") } == ["192.0.2.1", "192.0.2.1"])
            #expect(process.connections == 1)
        }
    }

    @Test("a token is whose the process says")
    func tokens() async throws {
        try await withProcess(acceptsAs: "Carol") { authenticator, _ in
            #expect(await authenticator.present("good") == identity("carol"))
            #expect(await authenticator.present("bad") == .rejected(.wrong))
        }
        try await withProcess(acceptsAs: "no name") { authenticator, _ in
            #expect(await authenticator.present("good") == .rejected(.unmapped))
        }
    }

    @Test("an answer for another user lets nobody in", arguments: ["bob", "alice2", "no name", "alice\u{0}", " alice"])
    func anotherUser(_ other: String) async throws {
        try await withProcess(acceptsAs: other) { authenticator, _ in
            #expect(await authenticator.login("alice", "good") == .unavailable(.failed))
        }
    }

    @Test("another spelling of the user is the user")
    func renaming() async throws {
        let names = NameRules(suffixes: ["@example.com"])
        try await withProcess(acceptsAs: "ALICE@Example.com", context: .test(names: names)) { authenticator, _ in
            #expect(await authenticator.login("alice", "good") == identity("alice"))
        }
    }

    @Test("what cannot be asked is not asked")
    func notAsked() async throws {
        for (context, refusals) in [
            (PluginContext.test(), [AuthenticationOutcome.rejected(.malformed), .rejected(.unmapped)]),
            (.test(isLastOfItsKind: false), [.notMine, .notMine]),
        ] {
            try await withProcess(context: context) { authenticator, process in
                #expect(await authenticator.login("alice", "") == refusals[0])
                #expect(await authenticator.login("alice", [0xFF, 0xFE]) == refusals[0])
                #expect(await authenticator.login("alice", [0x61, 0, 0x62]) == refusals[0])
                #expect(await authenticator.login("alice", String(repeating: "a", count: 1025)) == refusals[0])
                #expect(await authenticator.login("two words", "good") == refusals[1])
                #expect(await authenticator.present("") == refusals[0])
                #expect(process.connections == 0)
            }
        }
    }

    @Test("a kind that is not configured is not its own, and is not asked about")
    func kinds() async throws {
        try await withProcess(kinds: [.password]) { authenticator, process in
            #expect(await authenticator.present("good") == .notMine)
            #expect(process.connections == 0)
            #expect(await authenticator.login("alice", "good") == identity("alice"))
        }
    }

    @Test("names that no honest client sends", .enabled(if: !TestData.naughtyStrings.isEmpty, "no corpus here"))
    func naughtyNames() async throws {
        try await withProcess(acceptsAs: "alice") { authenticator, _ in
            for text in TestData.naughtyStrings {
                let answer = await authenticator.login(text, "good")
                #expect(!answer.isGrant || NameRules().canonical(text)?.text == "alice")
                #expect(await authenticator.login("alice", text).isGrant == false)
            }
        }
    }

    @Test("the process goes and comes back")
    func restart() async throws {
        let directory = try TestFiles()
        let verdicts: @Sendable (ScriptedProcess.Seen) -> [ScriptedProcess.Move] = {
            [ScriptedProcess.verdict(on: $0, #""verdict":"accepted","user":"alice""#)]
        }
        let settings = ExternalProcessPlugin.Settings(
            socket: directory.socket, delegation: .init(timeout: .seconds(60)))
        let authenticator = try await ExternalProcessAuthenticator(
            settings, context: .test(), backOff: BackOff(shortest: .nanoseconds(1), longest: .nanoseconds(1)))
        #expect(await authenticator.login("alice", "good") == .unavailable(.failed))
        for _ in 0..<3 {
            let process = try await ScriptedProcess.start(at: directory.socket, verdicts)
            try directory.setMode(0o600, of: "socket")
            #expect(await authenticator.login("alice", "good") == identity("alice"))
            await process.stop()
            // Gone, with its end on its way to us or here already: no login is lost but the ones of this moment.
            #expect(await authenticator.login("alice", "good") == .unavailable(.failed))
        }
    }

    @Test("a process that never answers costs the deadline and no more")
    func never() async throws {
        let directory = try TestFiles()
        let process = try await ScriptedProcess.start(at: directory.socket) { _ in [] }
        try directory.setMode(0o600, of: "socket")
        let settings = ExternalProcessPlugin.Settings(
            socket: directory.socket, delegation: .init(timeout: .milliseconds(50), connections: 2))
        let authenticator = try await ExternalProcessPlugin.makeAuthenticator(settings, context: .test())
        await withTaskGroup(of: AuthenticationOutcome.self) { group in
            for _ in 0..<10 { group.addTask { await authenticator.login("alice", "good") } }
            // On a busy machine the hello may be what is late: then the wait failed, and did not time out.
            for await answer in group {
                #expect([.unavailable(.timedOut), .unavailable(.failed)].contains(answer))
            }
        }
        await process.stop()
    }

    @Test("a socket that anybody may have put there is not connected to")
    func openSocket() async throws {
        let directory = try TestFiles()
        let process = try await ScriptedProcess.start(at: directory.socket) {
            [ScriptedProcess.verdict(on: $0, #""verdict":"accepted","user":"alice""#)]
        }
        try directory.setMode(0o666, of: "socket")
        let settings = ExternalProcessPlugin.Settings(
            socket: directory.socket, delegation: .init(timeout: .seconds(60)))
        let authenticator = try await ExternalProcessPlugin.makeAuthenticator(settings, context: .test())
        #expect(await authenticator.login("alice", "good") == .unavailable(.failed))
        #expect(process.connections == 0)
        await process.stop()
    }
}
