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
        for text in ["alpha", "this one", "n-live", "&lt;b&gt;beta", "The users files of the gateways differ"] {
            #expect(page.body.contains(text), "\(text)")
        }
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
}
