import Testing

@testable import GatewayConsole

@Suite("The page of the gateways that share a store")
struct NodePageTests {
    @Test("The page lists the gateways and warns of users files that differ")
    func list() async throws {
        let fixture = ConsoleFixture(hasNodes: true)
        let cookie = try await fixture.logIn("bob").cookie
        let page = try await fixture.get("/nodes", cookie: cookie)
        #expect(page.status == 200)
        for text in ["alpha", "this one", "n-7", "&lt;b&gt;beta", "The users files of the gateways differ"] {
            #expect(page.body.contains(text), "\(text)")
        }
        #expect(page.body.split(separator: #"<span class="fresh">live</span>"#).count == 2)
        #expect(page.body.split(separator: "no sign of life").count == 2)
        #expect(page.body.contains(#"<a href="/nodes" aria-current="page">"#) && !page.body.contains("<b>beta"))
        #expect(try await fixture.get("/nodes").status == 303)
    }

    @Test("Without a shared store there is neither the page nor a link to it")
    func alone() async throws {
        let fixture = ConsoleFixture()
        let cookie = try await fixture.logIn("bob").cookie
        #expect(try await fixture.get("/nodes", cookie: cookie).status == 404)
        #expect(try await !fixture.get("/users", cookie: cookie).body.contains("/nodes"))
    }

    @Test("While the calls of all gateways cannot be read, the overview says so, and no list looks complete")
    func callsOutage() async throws {
        let fixture = ConsoleFixture(hasNodes: true, callsOutage: "PostgreSQL is away")
        let (cookie, _) = try await fixture.logIn("alice")
        let overview = try await fixture.get("/", cookie: cookie)
        #expect(overview.status == 200 && overview.body.contains("PostgreSQL is away"))
        #expect(!overview.body.contains("Nobody has notified anybody yet"))
        #expect(overview.body.contains("those of this gateway alone"))
        #expect(try await fixture.get("/calls", cookie: cookie).status == 503)
    }

    @Test("Lists of calls name the gateway only if there are several", arguments: [true, false])
    func column(_ hasNodes: Bool) async throws {
        let fixture = ConsoleFixture(hasNodes: hasNodes)
        let (cookie, _) = try await fixture.logIn("alice")
        let page = try await fixture.get("/calls", cookie: cookie)
        #expect(page.status == 200 && page.body.contains(">Gateway</th>") == hasNodes)
    }
}
