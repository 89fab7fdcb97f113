import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import ForwardAuth

@Suite("Account status with forward-auth")
struct AccountStatusTests {
    private static let sales = GroupName("sales")!  // A valid name.

    private typealias Script = @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]

    /// Returns the script that responds to every request alike.
    private static func always(_ line: String, _ fields: String = "") -> Script {
        { _ in [.write(ScriptedServer.response(line, fields))] }
    }

    /// Runs the closure with a service and an authenticator that queries it for logins and for accounts.
    private func withService(
        _ script: @escaping Script, query: String = "", token: String? = nil,
        delegation: DelegationSettings = .init(timeout: .seconds(60)), names: NameRules = NameRules(),
        _ body: (any AccountAuthenticator, ScriptedServer) async throws -> Void
    ) async throws {
        try await ScriptedServer.run(script) { service in
            let settings = ForwardAuthPlugin.Settings(
                url: "http://127.0.0.1:\(service.port)/verify", delegation: delegation,
                status: .init(
                    url: "http://127.0.0.1:\(service.port)/status\(query)", token: token.map { Secret($0.utf8) }))
            let made = try await ForwardAuthPlugin.makeAuthenticator(settings, context: .test(names: names))
            try await body(try #require(made as? any AccountAuthenticator), service)
        }
    }

    private static let names = "X-Forwarded-User: alice\r\n"

    @Test(
        "A status counts if the response names the account",
        arguments: [
            ("200 OK", names + "X-Forwarded-Groups: sales, no group\r\n", AccountStatus.valid(groups: [sales])),
            ("204 No Content", "x-forwarded-user: ALICE\r\n", .valid(groups: [])),
            ("403 Forbidden", names, .ended(.disabled)), ("404 Not Found", names, .ended(.wrong)),
            ("410 Gone", names, .ended(.expired)), ("410 Gone", "", .ended(.expired)),
        ])
    func statuses(_ line: String, _ fields: String, _ status: AccountStatus) async throws {
        try await withService(Self.always(line, fields)) { authenticator, _ in
            #expect(await authenticator.status(of: LoginName("alice")) == status)
        }
    }

    @Test(
        "Any other response, such as that of a proxy or of another server, leaves the status unknown",
        arguments: [
            ("200 OK", ""), ("200 OK", "X-Forwarded-User: bob\r\n"), ("200 OK", "X-Forwarded-User: \r\n"),
            ("200 OK", names + names), ("404 Not Found", ""), ("404 Not Found", "X-Forwarded-User: bob\r\n"),
            ("403 Forbidden", ""), ("410 Gone", "X-Forwarded-User: bob\r\n"), ("410 Gone", names + names),
            ("401 Unauthorized", names), ("400 Bad Request", names), ("302 Found", names + "Location: /login\r\n"),
            ("429 Too Many Requests", names), ("500 Internal Server Error", names), ("502 Bad Gateway", names),
            ("503 Service Unavailable", names), ("404 Not Found", names + "X-Long: LONG\r\n"),
        ])
    func unknown(_ line: String, _ fields: String) async throws {
        let fields = fields.replacing("LONG", with: String(repeating: "x", count: 16_384))
        try await withService(Self.always(line, fields)) { authenticator, service in
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.failed))
            #expect(service.seen.count == 1)
        }
    }

    @Test("A response that is not complete, or is not HTTP, leaves the status unknown")
    func garbage() async throws {
        for bytes in [
            "HTTP/1.1 410 Gone\r\nContent-Length: 10\r\n\r\nshort", "HTTP/1.1 410 Gone\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
            "HTTP/1.1 410 Gone\r\nContent-Length: 65537\r\n\r\n" + String(repeating: "x", count: 65_537), "",
        ] {
            let script: Script = { _ in [.write(bytes), .close] }
            try await withService(script) { authenticator, _ in
                #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.failed))
            }
        }
    }

    @Test("The request has the login's name, the configured token, and nothing of a client")
    func request() async throws {
        let script = Self.always("410 Gone")
        let names = NameRules(suffixes: ["@example.com"])
        try await withService(script, token: "0123456789abcdef", names: names) { authenticator, service in
            _ = await authenticator.status(of: LoginName("alice@example.com"))
            let request = try #require(service.seen.first)
            #expect(request.line == "GET /status?user=alice%40example.com HTTP/1.1")
            #expect(request.values("Authorization") == ["Bearer 0123456789abcdef"])
            #expect(request.values("X-Forwarded-For") == [])
        }
        try await withService(script, query: "?realm=a%20b") { authenticator, service in
            _ = await authenticator.status(of: LoginName("alice"))
            #expect(service.seen.first?.target == "/status?realm=a%20b&user=alice")
            #expect(service.seen.first?.values("Authorization") == [])
        }
    }

    /// Returns the bytes of percent-encoded text.
    private static func decoded(_ text: Substring) -> [UInt8] {
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        return (parts.first.map { Array($0.utf8) } ?? [])
            + parts.dropFirst().flatMap { part in
                (UInt8(part.prefix(2), radix: 16).map { [$0] } ?? []) + Array(part.dropFirst(2).utf8)
            }
    }

    @Test("No name changes another part of the URL")
    func hostileNames() throws {
        for name in TestData.naughtyStrings + [
            "a&user=root", "a#", "a?b=c", "../admin", "a\r\nX: y", "a b+c", "%2e", "ä/\\;", "@", ".", "..",
        ] {
            guard let url = StatusQuery.url("http://h/s", for: LoginName(name)) else {
                #expect(name.isEmpty || name.utf8.count > 1024 || name.utf8.contains(0))
                continue
            }
            let value = try #require(url.split(separator: "http://h/s?user=").first)
            #expect(url == "http://h/s?user=" + value)
            #expect(Self.decoded(value) == Array(name.utf8))
            let allowed = value.utf8.allSatisfy { byte in
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%".utf8.contains(byte)
            }
            #expect(allowed)
        }
    }

    @Test("A name that no login can have had is not sent")
    func unsendable() async throws {
        try await withService(Self.always("200 OK", Self.names)) {
            authenticator, service in
            for name in ["", "two words", String(repeating: "a", count: 1025), "a\u{0}"] {
                #expect(await authenticator.status(of: LoginName(name)) == .ended(.wrong))
            }
            #expect(service.connections == 0)
        }
    }

    @Test("Queries that the service never responds to delay no login, and end at the deadline")
    func slow() async throws {
        let script: Script = { request in
            request.target.hasPrefix("/status") ? [] : [.write(ScriptedServer.response("200 OK", Self.names))]
        }
        try await withService(script, delegation: .init(timeout: .seconds(60), connections: 1, queue: 1)) {
            authenticator, service in
            await withTaskGroup(of: AccountStatus.self) { group in
                for _ in 0..<3 { group.addTask { await authenticator.status(of: LoginName("alice")) } }
                // One has the only connection and one waits for it.
                #expect(await group.next() == .unknown(.busy))
                #expect(await authenticator.login("alice", "good") == .accepted("alice", by: ForwardAuthPlugin.name))
                await service.stop()
                // One of them was sent already.
                for await status in group { #expect([.unknown(.failed), .unknown(.unreachable)].contains(status)) }
            }
        }
        try await withService(script, delegation: .init(timeout: .milliseconds(50))) { authenticator, _ in
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.timedOut))
        }
    }

    @Test("Without a service the status is unknown")
    func down() async throws {
        try await withService(Self.always("410 Gone")) { authenticator, service in
            await service.stop()
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.unreachable))
        }
    }
}
