import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import HTTPTypes
import Testing

@testable import GatewayConsole

@Suite("Changes in the console")
struct ConsoleChangeTests {
    private let fixture = ConsoleFixture()

    /// The targets of the recorded changes.
    private var changes: [String?] {
        fixture.journal.records.filter { $0.facts?.action == .operatorRevoke }.map(\.target)
    }

    private func form(_ token: String, _ more: [(String, String)] = []) -> [(String, String)] {
        [("token", token), ("change", "end-session"), ("target", "session-of-bob")] + more
    }

    @Test("An operator's change is recorded with the name, and the page says that it is done")
    func change() async throws {
        let (cookie, token) = try await fixture.logIn("alice")
        let answer = try await fixture.post("/users/bob/changes", cookie: cookie, form: form(token))
        #expect(answer.status == 303 && answer.fields[.location] == "/users/bob")
        #expect(changes == ["session-of-bob"])
        let record = try #require(fixture.journal.records.last)
        #expect(record.requester == .user(ConsoleFixture.alice, Peer(address: .v4(0x7F00_0001), text: "")))
        #expect(try await fixture.get("/users/bob", cookie: cookie).body.contains("has ended"))
        #expect(try await !fixture.get("/users/bob", cookie: cookie).body.contains("has ended"))
    }

    @Test("A session of another user than that of the page is not ended")
    func foreignTarget() async throws {
        let (cookie, token) = try await fixture.logIn("alice")
        let answer = try await fixture.post("/users/dave/changes", cookie: cookie, form: form(token))
        #expect(answer.status == 404 && changes.isEmpty)
    }

    @Test("Without a record nothing changes")
    func recordFails() async throws {
        let (cookie, token) = try await fixture.logIn("alice")
        fixture.journal.fail(JournalUnavailable("the disk is full"))
        let answer = try await fixture.post("/users/bob/changes", cookie: cookie, form: form(token))
        #expect(answer.status == 503 && changes.isEmpty)
    }

    @Test("A viewer changes nothing")
    func viewer() async throws {
        let (cookie, token) = try await fixture.logIn("bob")
        let answer = try await fixture.post("/users/bob/changes", cookie: cookie, form: form(token))
        #expect(answer.status == 403 && changes.isEmpty)
        #expect(try await !fixture.get("/users/bob", cookie: cookie).body.contains("name=\"change\""))
    }

    @Test(
        "A form of another site, or without the session's token, changes nothing",
        arguments: [
            [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")], [("Sec-Fetch-Site", "none")],
            [("Origin", "https://evil.example")], [("Origin", "null")], [],
            [("Sec-Fetch-Site", "same-origin"), ("Origin", "http://127.0.0.1:9999")],
            [("Sec-Fetch-Site", "same-origin"), ("Content-Type", "text/plain")],
        ])
    func foreignForm(_ fields: [(String, String)]) async throws {
        let (cookie, token) = try await fixture.logIn("alice")
        let answer = try await fixture.post("/users/bob/changes", cookie: cookie, form: form(token), fields: fields)
        #expect([403, 415].contains(answer.status) && changes.isEmpty)
        let login = try await fixture.post(
            "/login", form: [("user", "alice"), ("password", "alice")], fields: fields)
        #expect(login.fields[.setCookie] == nil)
    }

    @Test("The token of another session is not accepted")
    func foreignToken() async throws {
        let cookie = try await fixture.logIn("alice").cookie
        let other = try await fixture.logIn("bob").token
        for token in [other, "", String(other.dropLast())] {
            #expect(try await fixture.post("/users/bob/changes", cookie: cookie, form: form(token)).status == 403)
        }
        #expect(changes.isEmpty)
    }

    @Test("Five minutes after the login a change asks for the password, and a wrong one changes nothing")
    func proof() async throws {
        let (cookie, token) = try await fixture.logIn("alice")
        fixture.clock.advance(by: .seconds(301))
        let question = try await fixture.post("/users/bob/changes", cookie: cookie, form: form(token))
        #expect(question.status == 200 && question.body.contains("type=\"password\""))
        #expect(question.body.contains("session-of-bob") && changes.isEmpty)
        let wrong = try await fixture.post(
            "/users/bob/changes", cookie: cookie, form: form(token, [("password", "bob")]))
        #expect(wrong.status == 403 && changes.isEmpty)
        let right = try await fixture.post(
            "/users/bob/changes", cookie: cookie, form: form(token, [("password", "alice")]))
        #expect(right.status == 303 && changes.count == 1)
        // The proof holds for the next changes.
        let next = try await fixture.post("/users/bob/changes", cookie: cookie, form: form(token))
        #expect(next.status == 303 && changes.count == 2)
    }

    @Test("A user ends only what is their own")
    func selfService() async throws {
        let (cookie, token) = try await fixture.logIn("carol")
        for path in ["/users", "/calls", "/pairs", "/policy", "/journal", "/users/bob", "/live?kind=sends"] {
            #expect(try await fixture.get(path, cookie: cookie).status == 403)
        }
        #expect(try await fixture.get("/", cookie: cookie).fields[.location] == "/me")
        #expect(try await fixture.get("/me", cookie: cookie).body.contains("session-of-carol"))
        let foreign = try await fixture.post("/me/changes", cookie: cookie, form: form(token))
        #expect(foreign.status == 404 && changes.isEmpty)
        let limits = try await fixture.post(
            "/me/changes", cookie: cookie, form: [("token", token), ("change", "reset-limits")])
        #expect(limits.status == 400)
        let own = try await fixture.post(
            "/me/changes", cookie: cookie,
            form: [("token", token), ("change", "end-session"), ("target", "session-of-carol")])
        #expect(own.status == 303 && changes == ["session-of-carol"])
    }

    @Test("Without self-service there is no such page")
    func noSelfService() async throws {
        let cookie = try await fixture.logIn("alice").cookie
        fixture.access.value = ConsoleAccess(
            viewers: [], operators: [.user(ConsoleFixture.alice)], isForEveryUser: false)
        #expect(try await fixture.get("/me", cookie: cookie).status == 404)
    }
}
