import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@testable import ForwardAuth

@Suite("Logins with forward-auth")
struct ForwardAuthTests {
    private static let accepted = response("200 OK", "X-Forwarded-User: alice\r\n")

    /// Returns the step that writes a response.
    private static func response(_ status: String, _ fields: String = "", body: String = "") -> ScriptedServer.Step {
        .write(ScriptedServer.response(status, fields, body: body))
    }

    /// The service's response to each request.
    private struct Script: Sendable {
        let steps: @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]

        init(_ steps: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]) { self.steps = steps }
    }

    /// Runs the closure with a service and an authenticator that queries it. Fills in the URL of the settings.
    private func withService(
        _ script: Script, context: PluginContext = .test(),
        settings: ForwardAuthPlugin.Settings = .init(url: "", delegation: .init(timeout: .seconds(60))),
        _ body: (any Authenticator, ScriptedServer) async throws -> Void
    ) async throws {
        let service = try await ScriptedServer.start(script.steps)
        var settings = settings
        settings.url = service.url
        try await body(try await ForwardAuthPlugin.makeAuthenticator(settings, context: context), service)
        await service.stop()
    }

    @Test("The request has a new Authorization field and the peer's address, and the response's head decides")
    func passwords() async throws {
        let script = Script { request in
            guard request.values("Authorization") == ["Basic YWxpY2U6Z29vZDo="] else {
                return [Self.response("401 Unauthorized", "WWW-Authenticate: Basic\r\n", body: "no")]
            }
            return [
                Self.response(
                    "200 OK",
                    "x-forwarded-user: \t Alice \t \r\nX-Forwarded-Groups: dispatch, no group, Sales\r\n"
                        + "X-Forwarded-Groups: night\r\n", body: "welcome")
            ]
        }
        try await withService(script) { authenticator, service in
            let groups = ["dispatch", "Sales", "night"]
            #expect(await authenticator.login("alice", "good:") == identity("alice", groups: groups))
            #expect(await authenticator.login("alice", "bad") == .rejected(.wrong))
            let request = try #require(service.seen.first)
            #expect(request.line == "GET /verify HTTP/1.1")
            #expect(request.values("X-Forwarded-For") == ["192.0.2.1"])
            // Consecutive requests use the same connection.
            #expect(service.connections == 1)
            // A peer on a Unix socket has no address.
            _ = await authenticator.login("alice", "bad".utf8, from: Peer(address: .local, text: "unix"))
            #expect(service.seen.last?.values("X-Forwarded-For") == [])
        }
    }

    @Test("The service names the user of a token")
    func tokens() async throws {
        let script = Script { request in
            request.values("Authorization") == ["Bearer good.token"]
                ? [Self.accepted] : [Self.response("403 Forbidden")]
        }
        try await withService(script) { authenticator, _ in
            #expect(await authenticator.present("good.token") == identity("alice"))
            #expect(await authenticator.present("bad") == .rejected(.untrusted))
        }
    }

    @Test(
        "A response for another user fails the login",
        arguments: ["bob", "alice, bob", "alice2", "ali ce", "\u{E4}lice"])
    func anotherUser(_ other: String) async throws {
        let fields = "X-Forwarded-User: \(other)\r\n"
        try await withService(Script { _ in [Self.response("200 OK", fields)] }) { authenticator, _ in
            #expect(await authenticator.login("alice", "good") == .unavailable(.failed))
        }
    }

    @Test("Another spelling of the user is accepted, and another user is not")
    func renaming() async throws {
        let names = NameRules(suffixes: ["@example.com"])
        let script = Script { _ in
            [Self.response("204 No Content", "Remote-User: BOB@Example.com\r\n")]
        }
        try await withService(
            script, context: .test(names: names),
            settings: .init(url: "", userHeader: "Remote-User", delegation: .init(timeout: .seconds(60)))
        ) {
            authenticator, _ in
            #expect(await authenticator.login("bob", "good") == identity("bob"))
            #expect(await authenticator.login("alice", "good") == .unavailable(.failed))
        }
    }

    @Test(
        "Any other response makes the login unavailable",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Forwarded-User: \r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Forwarded-User: alice\r\nX-Forwarded-User: alice\r\n\r\n",
            "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /verify2\r\nX-Forwarded-User: alice\r\n\r\n",
            "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nX-Forwarded-User: alice\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nX-Forwarded-User: alice\r\n\r\n",
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Forwarded-User: alice\r\nX-Long: LONG\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX-Forwarded-User: alice\r\nContent-Length: 65537\r\n\r\nBODY",
            "HTTP/1.1 200 OK\r\nX-Forwarded-User: alice\r\nContent-Length: 10\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nX-Forwarded-User: alice\r\nContent-Length: abc\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX-Forwarded-User: al\u{1}ice\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX-Forwarded-User", "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}\u{0}\u{0}\r\n\r\n", "",
        ])
    func neither(_ answer: String) async throws {
        let bytes = answer.replacing("LONG", with: String(repeating: "x", count: 16_384))
            .replacing("BODY", with: String(repeating: "x", count: 65_537))
        try await withService(Script { _ in [.write(bytes), .close] }) { authenticator, service in
            #expect(await authenticator.login("alice", "good") == .unavailable(.failed))
            // The redirect is not followed, and no request is repeated.
            #expect(service.seen.count == 1)
        }
    }

    @Test(
        "A redirect to a login page is a rejection if the configuration says so, and is not followed",
        arguments: [302, 303])
    func loginPage(_ status: Int) async throws {
        let answer = "HTTP/1.1 \(status) Found\r\nContent-Length: 0\r\nLocation: /login\r\n\r\n"
        for (statuses, expected) in [
            ([UInt(status)], AuthenticationOutcome.rejected(.wrong)), ([307], .unavailable(.failed)),
        ] {
            try await withService(
                Script { _ in [.write(answer)] },
                settings: .init(
                    url: "", rejectedStatuses: Set(statuses), delegation: .init(timeout: .seconds(60)))
            ) { authenticator, service in
                #expect(await authenticator.login("alice", "wrong") == expected)
                #expect(service.seen.count == 1)
            }
        }
    }

    @Test(
        "A slow service costs the deadline and no more",
        arguments: [
            "", "HTTP/1.1 200 OK\r\nX-Forw", "HTTP/1.1 200 OK\r\nX-Forwarded-User: alice\r\nContent-Length: 5\r\n\r\nx",
            "HTTP/1.1 100 Continue\r\n\r\n",
        ])
    func slow(_ beginning: String) async throws {
        try await withService(
            Script { _ in beginning.isEmpty ? [] : [.write(beginning)] },
            settings: .init(url: "", delegation: .init(timeout: .milliseconds(50)))
        ) { authenticator, _ in
            #expect(await authenticator.login("alice", "good") == .unavailable(.timedOut))
        }
    }

    @Test("A login without a listener is unavailable, and the next one works once the service listens")
    func down() async throws {
        let service = try await ScriptedServer.start { _ in [Self.accepted] }
        let settings = ForwardAuthPlugin.Settings(url: service.url, delegation: .init(timeout: .seconds(60)))
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: service.port)
        await service.stop()
        let authenticator = try await ForwardAuthPlugin.makeAuthenticator(settings, context: .test())
        #expect(await authenticator.login("alice", "good") == .unavailable(.unreachable))
        let again = try await ScriptedServer.start(at: address) { _ in [Self.accepted] }
        #expect(await authenticator.login("alice", "good") == identity("alice"))
        await again.stop()
    }

    @Test("The service can listen on a Unix socket")
    func unixSocket() async throws {
        let path = "/tmp/nga-\(UUID().uuidString.prefix(8)).sock"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let service = try await ScriptedServer.start(at: try SocketAddress(unixDomainSocketPath: path)) { _ in
            [Self.accepted]
        }
        let url = "http+unix://\(path.replacing("/", with: "%2F"))/verify"
        #expect(ServiceURL.fault(in: url, allowsPlaintext: false) == nil)
        let authenticator = try await ForwardAuthPlugin.makeAuthenticator(
            .init(url: url, delegation: .init(timeout: .seconds(60))), context: .test())
        #expect(await authenticator.login("alice", "good") == identity("alice"))
        #expect(service.seen.first?.line == "GET /verify HTTP/1.1")
        #expect(service.seen.first?.values("Host") == ["localhost"])
        await service.stop()
    }

    @Test("Logins beyond the connections and the queue fail at once, and connections are bounded")
    func bounds() async throws {
        try await withService(
            Script { _ in [] },
            settings: .init(url: "", delegation: .init(timeout: .seconds(60), connections: 2, queue: 3))
        ) { authenticator, service in
            await withTaskGroup(of: AuthenticationOutcome.self) { group in
                for _ in 0..<20 { group.addTask { await authenticator.login("alice", "good") } }
                for _ in 0..<15 { #expect(await group.next() == .unavailable(.busy)) }
                #expect(service.connections <= 2)
                // The other five would wait for a minute.
                await service.stop()
                // Two of them were sent already.
                for await answer in group {
                    #expect([.unavailable(.failed), .unavailable(.unreachable)].contains(answer))
                }
            }
        }
    }

    @Test("A credential that cannot be sent is not sent")
    func notAsked() async throws {
        for (context, rejections) in [
            (PluginContext.test(), [AuthenticationOutcome.rejected(.malformed), .rejected(.unmapped)]),
            (.test(isLastOfItsKind: false), [.notMine, .notMine]),
        ] {
            try await withService(Script { _ in [Self.accepted] }, context: context) { authenticator, service in
                #expect(await authenticator.login("alice", "") == rejections[0])
                #expect(await authenticator.login("", "good") == rejections[0])
                #expect(await authenticator.login("alice:x", "good") == rejections[0])
                #expect(await authenticator.login("alice", "a\u{0}b") == rejections[0])
                #expect(await authenticator.login("alice", String(repeating: "a", count: 1025)) == rejections[0])
                #expect(await authenticator.login("two words", "good") == rejections[1])
                for token in ["", "a b", "a\r\nX-Admin: 1", "ä", String(repeating: "a", count: 8193)] {
                    #expect(await authenticator.present(token) == rejections[0])
                }
                #expect(service.connections == 0)
            }
        }
        try await withService(
            Script { _ in [Self.accepted] },
            settings: .init(url: "", delegation: .init(kinds: [.password], timeout: .seconds(60)))
        ) {
            authenticator, service in
            #expect(await authenticator.present("token") == .notMine)
            #expect(service.connections == 0)
        }
    }

    @Test(
        "Hostile user names and passwords are not accepted and stay in one field of one request",
        .enabled(if: !TestData.naughtyStrings.isEmpty, "no corpus here"))
    func naughty() async throws {
        try await withService(Script { _ in [Self.accepted] }) { authenticator, service in
            for text in TestData.naughtyStrings {
                let answer = await authenticator.login(text, "good")
                #expect(!answer.isGrant || NameRules().canonical(LoginName(text))?.text == "alice")
                // Every password is sent as one field of one request.
                _ = await authenticator.login("alice", text)
            }
            #expect(
                service.seen.allSatisfy { $0.values("Authorization").count == 1 && $0.line == "GET /verify HTTP/1.1" })
        }
    }
}

extension ScriptedServer {
    /// The URL that the authenticator queries.
    fileprivate var url: String { "http://127.0.0.1:\(port)/verify" }
}
