import GatewayConfiguration
import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayConsole

@Suite("Login to the console at the identity provider")
struct ProviderLoginTests {
    @Test("The browser goes to the provider and comes back with a session that the next page finds")
    func login() async throws {
        let fixture = ProviderLoginFixture()
        let browser = TestBrowser(fixture, fixture.make())
        let page = try await browser.get("/login?next=/users/bob")
        #expect(page.text.contains(#"href="/login/provider?next=%2Fusers%2Fbob""#))
        #expect(page.text.contains(#"name="password""#))
        let beginning = try await browser.get("/login/provider?next=/users/bob")
        #expect(beginning.status == 303 && beginning.location?.hasPrefix("https://id.example.com/login?") == true)
        let cookie = try #require(beginning.cookies.first)
        #expect(cookie.hasPrefix("notify-gateway-console-login="))
        #expect(cookie.hasSuffix("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax"))
        let request = try #require(fixture.current.requests.last)
        #expect(request.redirectURI == "http://127.0.0.1:8500/login/callback")
        let end = try await browser.call(back: request.state, "&code=c-1&iss=https%3A%2F%2Fid.example.com")
        // A redirection would still be one of the provider's site, without the cookie of the session.
        #expect(end.status == 200 && end.location == nil)
        #expect(end.text.contains(#"<meta http-equiv="refresh" content="0;url=/users/bob">"#))
        #expect(end.text.contains(#"href="/users/bob""#))
        #expect(end.cookies.contains { $0.contains("SameSite=Strict") })
        #expect(browser.cookieNames == ["notify-gateway-console"])
        let session = try #require(browser.session)
        #expect(session.user.user.text == "alice" && session.login.text == "00u1")
        #expect(session.provider == fixture.current.provider)
        let response = try #require(fixture.current.responses.last)
        #expect(response.issuer == "https://id.example.com" && response.nonce == request.nonce)
        #expect(response.provedSince == nil && response.redirectURI == request.redirectURI)
        let record = try #require(fixture.journal.records.last)
        #expect(record.facts?.action == .operatorLogin && record.result == "accepted")
        #expect(try await browser.get("/login").location == "/")
        #expect(try await browser.get("/login/provider?next=/users").location == "/users")
    }

    @Test("A state is used once, and only by the browser that began the login")
    func states() async throws {
        let fixture = ProviderLoginFixture()
        let made = fixture.make()
        let (browser, other) = (TestBrowser(fixture, made), TestBrowser(fixture, made))
        for path in ["", "?code=c", "?state=&code=c", "?state=\(RandomText.make())&code=c"] {
            #expect(try await browser.get(ProviderLogins.callbackPath + path).status == 400)
        }
        let first = try await browser.begin()
        _ = try await other.begin()
        #expect(try await other.call(back: first).status == 400)
        #expect(other.session == nil)
        // The state is used up.
        #expect(try await browser.call(back: first).status == 400)
        let second = try await browser.begin()
        #expect(try await browser.call(back: second).status == 200)
        #expect(try await browser.call(back: second).status == 400)
        let third = try await other.begin()
        fixture.clock.advance(by: PendingLogins.lifetime)
        #expect(try await other.call(back: third).status == 400)
        #expect(other.session == nil && fixture.current.responses.count == 1)
    }

    @Test("An error of the provider is shown as a constant sentence, and redeems nothing")
    func errors() async throws {
        let fixture = ProviderLoginFixture()
        let browser = TestBrowser(fixture, fixture.make())
        for rest in [
            "&error=access_denied&error_description=Call%200900", "&error=<b>&code=c", "", "&code=",
            "&code=\(String(repeating: "c", count: 4097))",
        ] {
            let page = try await browser.call(back: try await browser.begin(), rest)
            #expect(page.status == 401 && page.text.contains("The identity provider did not log you in."))
            #expect(!page.text.contains("0900") && !page.text.contains("<b>"))
            #expect(browser.cookieNames.isEmpty)
        }
        #expect(fixture.current.responses.isEmpty)
        fixture.state.withLock { $0.rejection = Rejection(.credentialsRejected, "untrusted") }
        var page = try await browser.call(back: try await browser.begin())
        #expect(page.status == 401 && page.text.contains("The login at the identity provider was not accepted."))
        fixture.state.withLock { $0.rejection = Rejection(.authenticatorUnavailable, "failed") }
        page = try await browser.call(back: try await browser.begin())
        #expect(page.status == 503 && page.text.contains("Logins cannot be verified now."))
        fixture.state.withLock {
            ($0.rejection, $0.access) = (nil, ConsoleAccess(viewers: [], operators: [], isForEveryUser: false))
        }
        page = try await browser.call(back: try await browser.begin())
        #expect(page.status == 403 && browser.session == nil)
        #expect(fixture.journal.records.last?.result == "failed")
        fixture.state.withLock { $0.start = .unavailable(.failed) }
        page = try await browser.get(ProviderLogins.path)
        #expect(page.status == 503 && page.cookies.isEmpty)
    }

    @Test("The redirect URI is the configured origin, and the request's only on this machine")
    func origins() async throws {
        let secure = ProviderLoginFixture(
            origin: .init(configured: ConsoleOrigin("https://console.example.com"), isSecure: true))
        let browser = TestBrowser(secure, secure.make(), host: "console.example.com")
        let page = try await browser.get(ProviderLogins.path)
        #expect(page.cookies.first?.hasPrefix("__Host-notify-gateway-login=") == true)
        #expect(page.cookies.first?.hasSuffix("; HttpOnly; SameSite=Lax; Secure") == true)
        #expect(
            secure.current.requests.last?.redirectURI == "https://console.example.com/login/callback")
        let open = ProviderLoginFixture(origin: .init(configured: nil, isSecure: true))
        for (host, status) in [("evil.example", 421), ("10.0.0.1:8500", 421)] {
            await #expect(throws: ConsoleProblem.self, "\(status)") {
                try await TestBrowser(open, open.make(), host: host).get(ProviderLogins.path)
            }
        }
        _ = try await TestBrowser(open, open.make(), host: "LocalHost:8500").get(ProviderLogins.path)
        #expect(open.current.requests.last?.redirectURI == "https://localhost:8500/login/callback")
        #expect(open.current.requests.count == 1)
    }

    @Test("The login page offers what the configuration does")
    func methods() async throws {
        let fixture = ProviderLoginFixture()
        let browser = TestBrowser(fixture, fixture.make())
        fixture.state.withLock { $0.methods = LoginMethods(acceptsPasswords: false, offersProvider: true) }
        var page = try await browser.get("/login?next=//evil.example")
        #expect(!page.text.contains("<input") && page.text.contains(#"href="/login/provider?next=%2F""#))
        fixture.state.withLock { $0.methods = LoginMethods(acceptsPasswords: true, offersProvider: false) }
        page = try await browser.get("/login")
        #expect(page.text.contains(#"name="password""#) && !page.text.contains(ProviderLogins.path))
        await #expect(throws: ConsoleProblem.self) { try await browser.get(ProviderLogins.path) }
    }

    @Test("A new proof asks the provider for one, and counts only for the session's own user")
    func proofs() async throws {
        let fixture = ProviderLoginFixture()
        let browser = TestBrowser(fixture, fixture.make())
        _ = try await browser.call(back: try await browser.begin())
        fixture.clock.advance(by: ConsoleSessions.proofTime)
        #expect(!fixture.sessions.isProved(try #require(browser.session)))
        let path = "/login/provider?again=1&next=/users/bob"
        func state() async throws -> String { try await browser.begin(path) }
        // Another user, and an error, prove nothing.
        fixture.state.withLock { $0.user = "bob" }
        #expect(try await browser.call(back: try await state()).status == 403)
        #expect(try await browser.call(back: try await state(), "&error=login_required").status == 401)
        #expect(!fixture.sessions.isProved(try #require(browser.session)))
        fixture.state.withLock { state in
            state.user = "alice"
            state.provider = ProviderLogin(issuer: "https://id.example.com", subject: "00u1", session: "s2")
        }
        let before = fixture.clock.clocks.wall()
        let page = try await browser.call(back: try await state())
        #expect(page.text.contains(#"content="0;url=/users/bob""#))
        #expect(fixture.current.requests.last?.requiresNewProof == true)
        #expect(fixture.current.responses.last?.provedSince == before)
        let session = try #require(browser.session)
        #expect(fixture.sessions.isProved(session) && session.provider?.session == "s2")
        #expect(
            fixture.sessions.takeNotice(of: session.id) != nil && fixture.sessions.takeNotice(of: session.id) == nil)
        #expect(fixture.sessions.count == 1)
        // Without a session it is a login.
        _ = try await TestBrowser(fixture, fixture.make()).get(path)
        #expect(fixture.current.requests.last?.requiresNewProof == false)
    }

    @Test("A change needs a recent login at the provider, and no password in its place")
    func changes() async throws {
        let fixture = ProviderLoginFixture()
        let browser = TestBrowser(fixture, fixture.make())
        _ = try await browser.call(back: try await browser.begin())
        // There are no operations here, so a permitted change ends with an invalid request.
        #expect(try await browser.change("change=lift-bans").status == 400)
        fixture.clock.advance(by: ConsoleSessions.proofTime)
        for form in ["change=lift-bans", "change=lift-bans&password=x"] {
            let page = try await browser.change(form)
            // The redirection of a form to another host is blocked by the content security policy.
            #expect(page.status == 200 && page.location == nil)
            #expect(page.text.contains("href=\"/login/provider?again=1&amp;next=%2Fusers%2Fbob\""))
            #expect(!page.text.contains("http-equiv=\"refresh\""))
            #expect(page.text.contains("Nothing was changed"))
        }
        let path = "/login/provider?again=1&next=%2Fusers%2Fbob"
        #expect(
            try await browser.call(back: try await browser.begin(path)).text
                .contains("content=\"0;url=/users/bob\""))
        #expect(try await browser.change("change=lift-bans").status == 400)
    }

    @Test("Another site begins no login")
    func crossSite() async throws {
        let fixture = ProviderLoginFixture()
        let browser = TestBrowser(fixture, fixture.make())
        let state = try await browser.begin()
        let page = try await browser.get("/login/provider?next=/users", isCrossSite: true)
        #expect(page.status == 303 && page.location == "/login?next=%2Fusers" && page.cookies.isEmpty)
        #expect(try await browser.call(back: state).status == 200)
    }

    @Test("A logout at the provider, and a revocation, end the session, also one that is beginning")
    func logouts() async throws {
        let fixture = ProviderLoginFixture()
        let made = fixture.make()
        let (browser, other) = (TestBrowser(fixture, made), TestBrowser(fixture, made))
        func logOut(_ target: ProviderLogout.Target) async throws {
            _ = try await fixture.revocations.logOut(
                ProviderLogout(
                    issuer: "https://id.example.com", targets: [target], issued: fixture.clock.clocks.wall()))
        }
        _ = try await browser.call(back: try await browser.begin())
        let pending = try await other.begin()
        try await logOut(.session("s2"))
        try await logOut(.subject("00u2"))
        #expect(browser.session != nil)
        try await logOut(.session("s1"))
        #expect(browser.session == nil)
        #expect(try await other.call(back: pending).status == 403)
        #expect(other.session == nil)
        _ = try await browser.call(back: try await browser.begin())
        #expect(browser.session != nil)
        try await logOut(.subject("00u1"))
        #expect(browser.session == nil)
        _ = try await browser.call(back: try await browser.begin())
        fixture.revocations.revoke(UserName(canonical: "alice")!)
        #expect(browser.session == nil)
    }
}
