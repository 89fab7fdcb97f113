import GatewayConfiguration
import GatewayCore
import GatewaySupport
import GatewayTesting
import HTTPTypes
import Testing

@testable import GatewayConsole

@Suite("Protection of the console's pages")
struct ConsoleProtectionTests {
    private let fixture = ConsoleFixture()

    @Test("Every response forbids foreign content and frames, and is not stored")
    func fields() async throws {
        let cookie = try await fixture.logIn("alice").cookie
        for path in ["/login", "/", "/users", "/nothing", "/users/%ff", "/assets/../login"] {
            let fields = try await fixture.get(path, cookie: cookie).fields
            let policy = try #require(HTTPField.Name("Content-Security-Policy"))
            #expect(fields[policy]?.hasPrefix("default-src 'none'; ") == true)
            #expect(fields[policy]?.contains("frame-ancestors 'none'") == true)
            #expect(fields[.cacheControl] == "no-store")
        }
        for resource in Resource.all {
            let answer = try await fixture.get(resource.path)
            #expect(answer.status == 200 && answer.fields[.cacheControl]?.contains("immutable") == true)
        }
    }

    @Test(
        "Only a plain path of the console follows a login",
        arguments: [
            "//evil.example", "/\\evil.example", "https://evil.example", "/\u{9}/evil", "javascript:alert(1)", "",
            "/\r\nSet-Cookie: a=b", "/ü", "evil", "/" + String(repeating: "a", count: 2000),
        ])
    func redirects(_ next: String) async throws {
        let answer = try await fixture.post(
            "/login", form: [("user", "alice"), ("password", "alice"), ("next", next)])
        #expect(answer.status == 303 && answer.fields[.location] == "/")
    }

    @Test("Without TLS, only names of this machine and the configured origin are served")
    func hosts() throws {
        let own = RequestOriginCheck(configured: nil, isSecure: false)
        for host in ["127.0.0.1", "127.0.0.1:8090", "localhost:9", "[::1]:8090", "LOCALHOST"] {
            #expect(own.accepts(host: host))
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::2]", "", "192.0.2.1"] {
            #expect(!own.accepts(host: host), "\(host)")
        }
        #expect(!own.accepts(host: nil))
        let configured = RequestOriginCheck(
            configured: try #require(ConsoleOrigin("https://console.example.com")), isSecure: false)
        #expect(configured.accepts(host: "console.example.com") && configured.usesHTTPS)
        #expect(!configured.accepts(host: "console.example.com.evil.example"))
    }

    @Test("Text of users and of the address is escaped on every page that shows it")
    func escaping() async throws {
        let cookie = try await fixture.logIn("alice").cookie
        let hostile = "\"><script>alert('x')</script>{{formToken}}"
        let paths = [
            "/users/\(ConsoleLinks.encode(hostile))", "/calls?from=\(ConsoleLinks.encode(hostile))",
            "/login?next=\(ConsoleLinks.encode(hostile))",
        ]
        for path in paths {
            let body = try await fixture.get(path, cookie: cookie).body
            #expect(!body.contains("<script>alert") && !body.contains("\"><script"))
        }
        #expect(try await fixture.get(paths[0], cookie: cookie).body.contains("{{formToken}}"))
    }

    @Test(
        "Markup is escaped also where it is one character together with a mark",
        arguments: ["\u{600}<b>", "\u{D4E}<b>", "\"\u{301} x=1", "<\u{338}b>", "'\u{20DD}", "&\u{301}lt;"])
    func combinedCharacters(_ hostile: String) async throws {
        let escaped = EscapedHTML().escapeText(hostile)
        #expect(!escaped.utf8.contains { "<>\"'".utf8.contains($0) })
        let cookie = try await fixture.logIn("alice").cookie
        for path in ["/users/\(ConsoleLinks.encode(hostile))", "/calls?from=\(ConsoleLinks.encode(hostile))"] {
            let body = try await fixture.get(path, cookie: cookie).body
            #expect(body.utf8.count > 500 && !body.utf8.contains(hostile.utf8) && body.contains(escaped))
        }
    }

    @Test("A page for people without a session leads to the login; a request that a page makes by itself is refused")
    func withoutSession() async throws {
        let answer = try await fixture.get("/calls?from=bob")
        #expect(answer.status == 303 && answer.fields[.location] == "/login?next=%2Fcalls%3Ffrom%3Dbob")
        for path in ["/calls?from=bob", "/live", "/live?kind=sends", "/me"] {
            let answer = try await fixture.get(path, fields: [("X-Console-Refresh", "1")])
            #expect(answer.status == 401 && answer.body.contains("Your session has ended."), "\(path)")
        }
        #expect(try await fixture.post("/users/bob/changes", form: [("change", "revoke-user")]).status == 401)
    }
}

extension String.UTF8View {
    /// Returns whether the bytes contain other ones in a row.
    fileprivate func contains(_ other: String.UTF8View) -> Bool {
        let (all, wanted) = (Array(self), Array(other))
        return all.indices.contains { all[$0...].starts(with: wanted) }
    }
}
