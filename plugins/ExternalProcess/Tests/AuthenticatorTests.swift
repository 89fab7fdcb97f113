import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import ExternalProcess

@Suite("Logins with external-process")
struct AuthenticatorTests {
    /// Runs the closure with a process that accepts the password or token `good`, for the requested user or as
    /// `other`.
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

    @Test("A correct password is accepted and a wrong one rejected, and invalid group names are dropped")
    func passwords() async throws {
        try await withProcess(groups: #"["dispatch","no group!","Sales"]"#) { authenticator, process in
            #expect(await authenticator.login("alice", "good") == identity("alice", groups: ["dispatch", "Sales"]))
            #expect(await authenticator.login("alice", "bad") == .rejected(.wrong))
            #expect(process.requests.map { $0.text("peer") } == ["192.0.2.1", "192.0.2.1"])
            #expect(process.connections == 1)
        }
    }

    @Test("The process names the user of a token")
    func tokens() async throws {
        try await withProcess(acceptsAs: "Carol") { authenticator, _ in
            #expect(await authenticator.present("good") == identity("carol"))
            #expect(await authenticator.present("bad") == .rejected(.wrong))
        }
        try await withProcess(acceptsAs: "no name") { authenticator, _ in
            #expect(await authenticator.present("good") == .rejected(.unmapped))
        }
    }

    @Test(
        "A name that case folding merges with another is no user",
        arguments: ["wei\u{DF}", "\u{17F}am", "\u{212A}im"])
    func foldedNames(_ name: String) async throws {
        try await withProcess(acceptsAs: name) { authenticator, _ in
            #expect(await authenticator.present("good") == .rejected(.unmapped))
        }
        // A typed Kelvin sign is lower-cased to the letter k before the process is queried.
        if name.hasPrefix("\u{212A}") { return }
        try await withProcess { authenticator, process in
            #expect(await authenticator.login(name, "good") == .rejected(.unmapped))
            #expect(process.requests.isEmpty)
        }
    }

    @Test(
        "A verdict for another user fails the login",
        arguments: ["bob", "alice2", "no name", "alice\u{0}", " alice"])
    func anotherUser(_ other: String) async throws {
        try await withProcess(acceptsAs: other) { authenticator, _ in
            #expect(await authenticator.login("alice", "good") == .unavailable(.failed))
        }
    }

    @Test("Another spelling of the user is accepted")
    func renaming() async throws {
        let names = NameRules(suffixes: ["@example.com"])
        try await withProcess(acceptsAs: "ALICE@Example.com", context: .test(names: names)) { authenticator, _ in
            #expect(await authenticator.login("alice", "good") == identity("alice"))
        }
    }

    @Test("A credential that cannot be sent is not sent")
    func notAsked() async throws {
        for (context, rejections) in [
            (PluginContext.test(), [AuthenticationOutcome.rejected(.malformed), .rejected(.unmapped)]),
            (.test(isLastOfItsKind: false), [.notMine, .notMine]),
        ] {
            try await withProcess(context: context) { authenticator, process in
                #expect(await authenticator.login("alice", "") == rejections[0])
                #expect(await authenticator.login("alice", [0xFF, 0xFE]) == rejections[0])
                #expect(await authenticator.login("alice", [0x61, 0, 0x62]) == rejections[0])
                #expect(await authenticator.login("alice", String(repeating: "a", count: 1025)) == rejections[0])
                #expect(await authenticator.login("two words", "good") == rejections[1])
                #expect(await authenticator.present("") == rejections[0])
                #expect(process.connections == 0)
            }
        }
    }

    @Test("A kind that is not configured is left to other authenticators and not sent")
    func kinds() async throws {
        try await withProcess(kinds: [.password]) { authenticator, process in
            #expect(await authenticator.present("good") == .notMine)
            #expect(process.connections == 0)
            #expect(await authenticator.login("alice", "good") == identity("alice"))
        }
    }

    @Test(
        "Hostile names and passwords are not accepted",
        .enabled(if: !TestData.naughtyStrings.isEmpty, "no corpus here"))
    func naughtyNames() async throws {
        try await withProcess(acceptsAs: "alice") { authenticator, _ in
            for text in TestData.naughtyStrings {
                let answer = await authenticator.login(text, "good")
                #expect(!answer.isGrant || NameRules().canonical(LoginName(text))?.text == "alice")
                #expect(await authenticator.login("alice", text).isGrant == false)
            }
        }
    }

    @Test("Logins work again after the process restarts")
    func restart() async throws {
        let directory = try TestFiles()
        let verdicts: @Sendable (ScriptedProcess.Seen) -> [ScriptedProcess.Move] = {
            [ScriptedProcess.verdict(on: $0, #""verdict":"accepted","user":"alice""#)]
        }
        let settings = ExternalProcessPlugin.Settings(
            socket: directory.socket, delegation: .init(timeout: .seconds(60)))
        let authenticator = try await ExternalProcessAuthenticator(
            settings, context: .test(), backOff: Backoff(initialDelay: .nanoseconds(1), maximumDelay: .nanoseconds(1)))
        #expect(await authenticator.login("alice", "good") == .unavailable(.unreachable))
        for _ in 0..<3 {
            let process = try await ScriptedProcess.start(at: directory.socket, verdicts)
            try directory.setMode(0o600, of: "socket")
            #expect(await authenticator.login("alice", "good") == identity("alice"))
            await process.stop()
            // The process is gone, and the closure of its connection may not have arrived yet. Only this login fails.
            let outcome = await authenticator.login("alice", "good")
            #expect([.unavailable(.failed), .unavailable(.unreachable)].contains(outcome))
        }
    }

    @Test("A process that never responds costs the deadline and no more")
    func never() async throws {
        let directory = try TestFiles()
        let process = try await ScriptedProcess.start(at: directory.socket) { _ in [] }
        try directory.setMode(0o600, of: "socket")
        let settings = ExternalProcessPlugin.Settings(
            socket: directory.socket, delegation: .init(timeout: .milliseconds(50), connections: 2))
        let authenticator = try await ExternalProcessPlugin.makeAuthenticator(settings, context: .test())
        await withTaskGroup(of: AuthenticationOutcome.self) { group in
            for _ in 0..<10 { group.addTask { await authenticator.login("alice", "good") } }
            // Two were sent to the process. On a busy machine its hello may be late, and none is.
            for await answer in group {
                #expect([.unavailable(.timedOut), .unavailable(.unreachable)].contains(answer))
            }
        }
        await process.stop()
    }

    @Test("A socket that every user can write to is not used")
    func openSocket() async throws {
        let directory = try TestFiles()
        let process = try await ScriptedProcess.start(at: directory.socket) {
            [ScriptedProcess.verdict(on: $0, #""verdict":"accepted","user":"alice""#)]
        }
        try directory.setMode(0o666, of: "socket")
        let settings = ExternalProcessPlugin.Settings(
            socket: directory.socket, delegation: .init(timeout: .seconds(60)))
        let authenticator = try await ExternalProcessPlugin.makeAuthenticator(settings, context: .test())
        #expect(await authenticator.login("alice", "good") == .unavailable(.unreachable))
        #expect(process.connections == 0)
        await process.stop()
    }
}
