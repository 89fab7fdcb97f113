import GatewaySupport
import GatewayTesting
import HTTPTypes
import Testing

@testable import GatewayConsole

@Suite("Pages that stay open")
struct LivePageTests {
    private let fixture = ConsoleFixture(hasNodes: true)
    private static let byPage = [("X-Console-Refresh", "1")]

    @Test(
        "Every page states its time and where its script asks for changes, and marks the parts that it adopts",
        arguments: [
            ("/calls", "/live?kind=sends", true),
            ("/calls?from=bob&amp;result=failed", "/live?from=bob&amp;kind=sends", true),
            ("/calls?until=2026-11-25", "/live", false), ("/users", "/live", true), ("/users/bob", "/live", true),
            ("/nodes", "/live", true), ("/me", "/live", true),
        ])
    func marks(_ path: String, _ live: String, _ hasParts: Bool) async throws {
        fixture.clock.setWall(WallTime(seconds: 1_795_000_000))
        let cookie = try await fixture.logIn("alice").cookie
        let page = try await fixture.get(path.replacing("&amp;", with: "&"), cookie: cookie)
        #expect(page.status == 200 && page.body.contains(#"data-live="\#(live)""#))
        #expect(page.body.contains("<time>\(PageValues.time(WallTime(seconds: 1_795_000_000).description))</time> UTC"))
        #expect(page.body.contains("data-refresh=") == hasParts)
    }

    @Test("The response to a page that asks for changes has the time and the position for the next request")
    func answer() async throws {
        fixture.clock.setWall(WallTime(seconds: 1_795_000_000))
        let cookie = try await fixture.logIn("bob").cookie
        let answer = try await fixture.get("/live", cookie: cookie, fields: Self.byPage)
        let time = PageValues.time(WallTime(seconds: 1_795_000_000).description)
        #expect(answer.status == 200 && answer.body == #"{"at":"\#(time)","next":0,"changed":false}"#)
        #expect(answer.fields[.cacheControl] == "no-store" && answer.fields[.contentType] == "application/json")
    }

    @Test("A page learns of calls only if its user may see them")
    func roles() async throws {
        for (user, own, calls) in [("alice", 200, 200), ("bob", 200, 200), ("carol", 200, 403)] {
            let cookie = try await fixture.logIn(user).cookie
            #expect(try await fixture.get("/live", cookie: cookie, fields: Self.byPage).status == own, "\(user)")
            for kind in ["sends", "refusals", "all", "x"] {
                let answer = try await fixture.get("/live?kind=\(kind)", cookie: cookie, fields: Self.byPage)
                #expect(answer.status == calls, "\(user) \(kind)")
            }
        }
        let cookie = try await fixture.logIn("alice").cookie
        let foreign = try await fixture.get(
            "/live", cookie: cookie, fields: Self.byPage + [("Sec-Fetch-Site", "cross-site")])
        #expect(foreign.status == 403)
    }

    @Test("The sentence after a change is for the user's next request, not for a page that loads itself again")
    func notice() async throws {
        let (cookie, token) = try await fixture.logIn("alice")
        let form = [("token", token), ("change", "end-session"), ("target", "session-of-alice")]
        #expect(try await fixture.post("/me/changes", cookie: cookie, form: form).status == 303)
        let sentence = "The session has ended."
        for path in ["/me", "/users/bob"] {
            let answer = try await fixture.get(path, cookie: cookie, fields: Self.byPage)
            #expect(answer.status == 200 && !answer.body.contains(sentence))
        }
        #expect(try await fixture.get("/me", cookie: cookie).body.contains(sentence))
    }

    @Test("A page that answers a form names the page that can be requested again")
    func afterForm() async throws {
        let (cookie, token) = try await fixture.logIn("alice")
        fixture.clock.advance(by: .seconds(6 * 60))
        let answer = try await fixture.post(
            "/users/bob/changes", cookie: cookie, form: [("token", token), ("change", "revoke-user")])
        #expect(answer.status == 200 && answer.body.contains(#"data-live="/live" data-page="/users/bob""#))
    }
}
