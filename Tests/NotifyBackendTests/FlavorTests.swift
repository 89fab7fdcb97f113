import Testing

@testable import NotifyBackend

/// The statuses and formats of each flavor, row by row of the table of backend profiles.
@Suite struct FlavorTests {
    typealias Expected = (classic: Int, core: Int, net6: Int)

    private func expectStatus(
        _ expected: Expected,
        _ call: (BackendFixture) -> BackendResponse,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for flavor in BackendFlavor.allCases {
            let status =
                switch flavor {
                case .classic: expected.classic
                case .core: expected.core
                case .net6: expected.net6
                }
            #expect(call(BackendFixture(flavor)).status == status, "\(flavor)", sourceLocation: sourceLocation)
        }
    }

    @Test("Each flavor has its statuses for authentication") func authentication() {
        let basic = BackendFixture.basic
        let cases: [(String?, Expected)] = [
            (nil, (500, 401, 401)), (basic("alice:wrong"), (403, 401, 401)), ("Bearer abc", (403, 401, 401)),
            ("", (403, 401, 401)), ("Basic", (403, 401, 401)), ("Basic !!", (500, 401, 401)),
            (basic("alice"), (500, 401, 401)), ("Basic ", (500, 401, 401)), (basic("alice:alice"), (200, 200, 200)),
            (basic("alice:alice:x"), (200, 200, 200)), (basic(":"), (200, 200, 200)), (basic("a:A"), (403, 401, 401)),
            ("bAsIc " + basic("alice:alice").dropFirst(6), (200, 200, 200)),
        ]
        for (authorization, expected) in cases {
            expectStatus(expected) { $0.call("POST", "/api/register", authorization: authorization) }
        }
    }

    @Test("The classic flavor authenticates before it routes") func theClassicFlavorAuthenticatesBeforeItRoutes() {
        expectStatus((500, 404, 404)) { $0.call("GET", "/api/nothing", authorization: nil) }
        expectStatus((500, 405, 405)) { $0.call("GET", "/api/register", authorization: nil) }
        expectStatus((404, 404, 404)) { $0.call("GET", "/", authorization: nil) }
    }

    @Test("A flavor returns the id in its own format") func aFlavorReturnsTheIDInItsOwnFormat() {
        let id = "7260336227650468927-4200236381151834034-1"
        for flavor in BackendFlavor.allCases {
            let bench = BackendFixture(flavor)
            bench.register("alice", id: id, handle: "H")
            let answer = bench.call("POST", "/api/register?handle=H", accept: "*/*")
            switch flavor {
            case .classic:
                #expect(
                    answer == BackendResponse(200, contentType: "application/json; charset=utf-8", body: "\"\(id)\""))
                let xml = bench.call(
                    "POST",
                    "/api/register?handle=H",
                    accept: "text/html,application/xml;q=0.9,*/*;q=0.8"
                )
                #expect(xml.contentType == "application/xml; charset=utf-8")
                #expect(
                    xml.body
                        == "<string xmlns=\"http://schemas.microsoft.com/2003/10/Serialization/\">\(id)</string>"
                )
            case .core, .net6:
                #expect(answer == BackendResponse(200, contentType: "text/plain; charset=utf-8", body: id))
            }
        }
    }

    @Test(
        "The Accept field selects XML or JSON",
        arguments: [
            ("", false), ("*/*", false), ("application/json", false), ("text/xml", true),
            ("application/xml, */*", true),
            ("application/xml;q=0.1, application/json;q=0.2", false), ("application/json, application/xml", false),
            ("application/xml;q=x", true), (";;,,;q=1", false), ("text/plain", false),
        ])
    func negotiation(_ accept: String, _ prefersXML: Bool) {
        #expect(AcceptHeader(accept).prefersXML == prefersXML)
    }

    @Test("A flavor takes the id from its own location") func aFlavorTakesTheIDFromItsOwnLocation() {
        let body = { (bench: BackendFixture) in "{\"Platform\":\"\(bench.google)\",\"Handle\":\"H\",\"Tags\":[]}" }
        expectStatus((200, 404, 200)) { $0.call("PUT", "/api/register/1-1-1", body: body($0)) }
        expectStatus((200, 200, 405)) { $0.call("PUT", "/api/register?id=1-1-1", body: body($0)) }
        expectStatus((404, 400, 405)) { $0.call("PUT", "/api/register", body: body($0)) }
        expectStatus((404, 400, 405)) { $0.call("DELETE", "/api/register?id=", body: body($0)) }
        let bench = BackendFixture(.classic)
        _ = bench.call("PUT", "/api/register/path?id=query", body: body(bench))
        #expect(bench.hub.registrations().map(\.id) == ["path"])
    }

    @Test("A flavor has its own platform identifiers for registrations") func platformNames() {
        let cases: [(String, Expected)] = [
            ("gcm", (200, 500, 400)), ("fcm", (400, 200, 400)), ("fcmv1", (400, 500, 200)), ("mpns", (200, 200, 400)),
            ("wns", (200, 200, 200)), ("apns", (200, 200, 200)), ("APNS", (400, 500, 200)), ("", (400, 500, 400)),
            ("adm", (400, 500, 400)),
        ]
        for (word, expected) in cases {
            expectStatus(expected) { $0.register("alice", platform: word) }
        }
        #expect(BackendFixture(.classic).register("alice", platform: "adm").body.isEmpty)
        #expect(BackendFixture(.net6).register("alice", platform: "adm").contentType == "text/plain; charset=utf-8")
    }

    @Test("A flavor has its own platform identifiers for sends") func pnsNames() {
        let cases: [(String, Expected)] = [
            ("gcm", (200, 500, 500)), ("fcm", (500, 200, 500)), ("fcmv1", (500, 500, 200)), ("wns", (200, 200, 200)),
            ("aPnS", (200, 200, 200)), ("mpns", (500, 500, 500)), ("adm", (500, 500, 500)), ("", (500, 400, 400)),
        ]
        for (word, expected) in cases {
            expectStatus(expected) { $0.send(to: "bob", pns: word) }
        }
        #expect(BackendFixture(.classic).send(to: "bob", pns: "adm").body.isEmpty)
    }

    @Test("A missing parameter has the flavor's status") func missingParameters() {
        expectStatus((404, 400, 400)) { $0.call("POST", "/api/notifications?pns=apns", body: "\"x\"") }
        expectStatus((404, 400, 400)) { $0.call("POST", "/api/notifications?to_tag=bob", body: "\"x\"") }
        expectStatus((404, 400, 400)) { $0.call("POST", "/api/notifications", body: "\"x\"") }
        let classic = BackendFixture(.classic).call("POST", "/api/notifications?pns=secret", body: "\"x\"")
        #expect(classic.contentType == "application/json; charset=utf-8")
        #expect(classic.body.contains("http://localhost/api/notifications?pns=secret"))
    }

    @Test("An invalid body of an upsert has the flavor's status") func anInvalidBodyOfAnUpsertHasTheFlavorsStatus() {
        let bodies = [
            "{\"Platform\":\"apns\",\"Handle\":\"AB\"}", "{\"Platform\":\"apns\",\"Handle\":\"AB\",\"Tags\":null}",
            "{\"Platform\":\"apns\",\"Tags\":[]}", "{\"Platform\":\"apns\",\"Handle\":null,\"Tags\":[]}", "not json",
            "",
            "null", "[]", "{\"Platform\":\"apns\",\"Handle\":\"AB\",\"Tags\":[[]]}",
        ]
        for body in bodies {
            expectStatus((500, 400, 400)) { $0.call("PUT", $0.target(id: "1"), body: body) }
        }
        let core = BackendFixture(.core).call("PUT", "/api/register?id=1", body: bodies[0])
        #expect(core.contentType == "application/problem+json; charset=utf-8")
        #expect(core.body.contains("\"Tags\""))
        let classic = BackendFixture(.classic).call("PUT", "/api/register/1", body: "not json")
        #expect(classic.body == "{\"Message\":\"An error has occurred.\"}")
    }

    @Test("A failure of the hub has the flavor's status") func hubFailures() {
        for fault in [HubFault.upsertFails, .upsertGone] {
            expectStatus((500, 500, 200)) { bench in
                bench.hub.inject(fault)
                defer { #expect(bench.hub.registrations().isEmpty) }
                return bench.register("alice")
            }
        }
        expectStatus((500, 500, 503)) { bench in
            bench.hub.inject(.upsertBusy)
            return bench.register("alice")
        }
        for fault in [HubFault.reserveFails, .lookUpFails] {
            expectStatus((500, 500, 500)) { bench in
                bench.hub.inject(fault)
                return bench.call("POST", "/api/register?handle=H")
            }
        }
        expectStatus((500, 500, 500)) { bench in
            bench.hub.inject(.sendFails)
            return bench.send(to: "bob")
        }
    }

    @Test("A delete of an unknown id gets 500, and of a known id 200") func deletes() {
        expectStatus((500, 500, 500)) { $0.call("DELETE", $0.target(id: "1-2-3")) }
        expectStatus((200, 200, 200)) { bench in
            bench.register("bob", id: "1-2-3")
            defer { #expect(bench.hub.registrations().isEmpty) }
            return bench.call("DELETE", bench.target(id: "1-2-3"))
        }
    }

    @Test("A successful response is empty") func aSuccessfulResponseIsEmpty() {
        for flavor in BackendFlavor.allCases {
            let bench = BackendFixture(flavor)
            #expect(bench.register("bob", id: "1") == BackendResponse(200))
            #expect(bench.send(to: "bob") == BackendResponse(200))
            #expect(bench.call("DELETE", bench.target(id: "1")) == BackendResponse(200))
        }
    }

    @Test("Names compare without case, and the first of duplicate parameters wins")
    func namesCompareWithoutCase() {
        for flavor in BackendFlavor.allCases {
            let bench = BackendFixture(flavor)
            let body = "{\"pLATFORM\":\"\(bench.google)\",\"HANDLE\":\"H\",\"tags\":[\"t\"]}"
            let target = flavor == .core ? "/API/Register?ID=7" : "/API/Register/7"
            #expect(bench.call("PUT", target, body: body).status == 200)
            #expect(bench.hub.registrations().first?.tags == ["t", "username:alice"])
            let send = "/api/NOTIFICATIONS?PNS=\(bench.google)&pns=no&To_Tag=alice&to_tag=bob"
            #expect(bench.call("POST", send, body: "\"x\"").status == 200)
            #expect(bench.payloads("H").count == 1)
            #expect(bench.call("POST", "/%61pi/regis%74er").status == 200)
            // The last of duplicate members wins.
            let duplicates = "{\"Platform\":\"no\",\"platform\":\"\(bench.google)\",\"Handle\":\"H2\",\"Tags\":[]}"
            #expect(bench.call("PUT", bench.target(id: "8"), body: duplicates).status == 200)
        }
    }

    @Test("Other methods and paths are rejected") func otherMethodsAndPathsAreRejected() {
        expectStatus((405, 405, 405)) { $0.call("GET", "/api/register") }
        expectStatus((405, 405, 405)) { $0.call("PUT", "/api/notifications") }
        expectStatus((404, 404, 404)) { $0.call("GET", "/api/notifications/1") }
        expectStatus((404, 404, 404)) { $0.call("POST", "/api/account") }
        expectStatus((404, 404, 404)) { $0.call("GET", "/Help") }
        expectStatus((404, 404, 404)) { $0.call("POST", "/api/register/1/2") }
        for target in [
            "", "?", "//", "*", "api/register", "http://h/api/register", "/%", "/api/%zz?%", "/api/register%2f1",
        ] {
            expectStatus((404, 404, 404)) { $0.call("POST", target) }
        }
        #expect(BackendFixture(.core).call("GET", "/api/register").allow == "POST, PUT, DELETE")
        #expect(BackendFixture(.net6).call("GET", "/api/register").allow == "POST")
    }
}
