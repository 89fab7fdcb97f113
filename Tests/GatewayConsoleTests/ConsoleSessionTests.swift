import GatewayCore
import GatewaySupport
import GatewayTesting
import HTTPTypes
import Testing

@testable import GatewayConsole

@Suite("Sessions of the console")
struct ConsoleSessionTests {
    private let fixture = ConsoleFixture()

    private func isOpen(_ cookie: String) async throws -> Bool {
        try await fixture.get("/users", cookie: cookie).status == 200
    }

    @Test("A login leads to the requested page, and its cookie is for this host and scripts cannot read it")
    func login() async throws {
        let answer = try await fixture.post(
            "/login", form: [("user", "alice"), ("password", "alice"), ("next", "/calls?from=bob")])
        #expect(answer.status == 303 && answer.fields[.location] == "/calls?from=bob")
        let cookie = try #require(answer.fields[.setCookie])
        #expect(cookie.contains("; Path=/;") && cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"))
        #expect(!cookie.contains("Secure") && !cookie.contains("Domain"))
        #expect(fixture.journal.records.map(\.facts?.action) == [.operatorLogin])
        #expect(fixture.journal.records.first?.requester?.description == "alice")
    }

    @Test("With https the cookie is limited to this host and https")
    func secureCookie() async throws {
        let fixture = ConsoleFixture(isSecure: true)
        let answer = try await fixture.post(
            "/login", form: [("user", "alice"), ("password", "alice")],
            fields: [("Sec-Fetch-Site", "same-origin"), ("Origin", "https://127.0.0.1:8090")])
        let cookie = try #require(answer.fields[.setCookie])
        #expect(cookie.hasPrefix("__Host-notify-gateway=") && cookie.contains("; Secure"))
        #expect(answer.fields[.strictTransportSecurity] != nil)
    }

    @Test("Without a record nobody is logged in")
    func recordFails() async throws {
        fixture.journal.fail(JournalUnavailable("the disk is full"))
        let answer = try await fixture.post("/login", form: [("user", "alice"), ("password", "alice")])
        #expect(answer.status == 503 && answer.fields[.setCookie] == nil)
    }

    @Test("A user without a role is not logged in, which is recorded")
    func noRole() async throws {
        fixture.access.value = ConsoleAccess(viewers: [], operators: [], isForEveryUser: false)
        let answer = try await fixture.post("/login", form: [("user", "carol"), ("password", "carol")])
        #expect(answer.status == 403 && answer.fields[.setCookie] == nil)
        #expect(fixture.journal.records.map(\.result) == ["failed"])
    }

    @Test("A session ends after half an hour without a request, and after eight hours in any case")
    func expiry() async throws {
        let idle = try await fixture.logIn("alice").cookie
        fixture.clock.advance(by: .seconds(29 * 60))
        #expect(try await isOpen(idle))
        fixture.clock.advance(by: .seconds(30 * 60))
        #expect(try await !isOpen(idle))
        let suspended = try await fixture.logIn("alice").cookie
        fixture.clock.suspend(for: .seconds(30 * 60))
        #expect(try await !isOpen(suspended))
        let busy = try await fixture.logIn("alice").cookie
        for _ in 0..<23 {
            fixture.clock.advance(by: .seconds(20 * 60))
            #expect(try await isOpen(busy))
        }
        fixture.clock.advance(by: .seconds(20 * 60))
        #expect(try await !isOpen(busy))
    }

    @Test("Requests that a page makes by itself do not keep a session open")
    func refreshes() async throws {
        let cookie = try await fixture.logIn("alice").cookie
        for _ in 0..<3 {
            fixture.clock.advance(by: .seconds(9 * 60))
            let answer = try await fixture.get("/users", cookie: cookie, fields: [("X-Console-Refresh", "1")])
            #expect(answer.status == 200)
        }
        fixture.clock.advance(by: .seconds(3 * 60))
        #expect(try await !isOpen(cookie))
    }

    @Test("A logout ends the session, and the cookie is of no use any more")
    func logout() async throws {
        let (cookie, token) = try await fixture.logIn("alice")
        let answer = try await fixture.post("/logout", cookie: cookie, form: [("token", token)])
        #expect(answer.status == 303 && answer.fields[.location] == "/login")
        #expect(answer.fields[.setCookie]?.contains("Max-Age=0") == true)
        #expect(try await !isOpen(cookie))
    }

    @Test("Revoking a user ends the session at once")
    func revoked() async throws {
        let cookie = try await fixture.logIn("alice").cookie
        fixture.sessions.revoke(ConsoleFixture.alice)
        #expect(try await !isOpen(cookie))
    }

    @Test("Losing the role ends the session at once")
    func roleLost() async throws {
        let cookie = try await fixture.logIn("alice").cookie
        fixture.access.value = ConsoleAccess(viewers: [], operators: [], isForEveryUser: false)
        #expect(try await !isOpen(cookie))
    }

    @Test("An ended account ends the session within a minute; an unknown status does not")
    func accountEnded() async throws {
        let cookie = try await fixture.logIn("alice").cookie
        fixture.status.value = .unknown(.failed)
        fixture.clock.advance(by: .seconds(60))
        #expect(try await isOpen(cookie))
        fixture.status.value = .ended(.disabled)
        #expect(try await isOpen(cookie))
        fixture.clock.advance(by: .seconds(60))
        #expect(try await !isOpen(cookie))
    }

    @Test("A cookie that was set before the login is replaced, and its session ends")
    func fixation() async throws {
        let old = try await fixture.logIn("alice").cookie
        let answer = try await fixture.post(
            "/login", cookie: old, form: [("user", "alice"), ("password", "alice")])
        let new = String((answer.fields[.setCookie] ?? "").prefix { $0 != ";" })
        #expect(new != old)
        #expect(try await !isOpen(old))
        #expect(try await isOpen(new))
        #expect(try await !isOpen("notify-gateway-console=" + String(repeating: "A", count: 43)))
    }

    @Test("A sixth session of a user replaces the one that was not used for longest")
    func maximum() async throws {
        var cookies: [String] = []
        for _ in 0..<6 {
            cookies.append(try await fixture.logIn("alice").cookie)
            fixture.clock.advance(by: .seconds(1))
        }
        #expect(try await !isOpen(cookies[0]))
        for cookie in cookies.dropFirst() { #expect(try await isOpen(cookie)) }
    }
}
