import Testing

@testable import NotifyBackend

@Suite struct RegistrationTests {
    @Test("A handle keeps its first id and loses the others", arguments: BackendFlavor.allCases)
    func aHandleKeepsItsFirstIDAndLosesTheOthers(_ flavor: BackendFlavor) {
        let bench = BackendFixture(flavor)
        for id in ["3", "1", "2"] { bench.register("bob", id: id, handle: "H") }
        bench.register("bob", id: "4", handle: "other")
        let answer = bench.call("POST", "/api/register?handle=H")
        #expect(answer.body.filter(\.isNumber) == "3")
        #expect(bench.hub.registrations().map(\.id) == ["3", "4"])
    }

    @Test("A reservation with an unknown handle or without one returns a new id", arguments: BackendFlavor.allCases)
    func aReservationWithAnUnknownHandleOrWithoutOneReturnsANewID(_ flavor: BackendFlavor) throws {
        let bench = BackendFixture(flavor)
        let shape = /"?[0-9]{1,20}-[0-9]{1,20}-[0-9]{1,3}"?/
        for target in ["/api/register", "/api/register?handle=", "/api/register?handle=new", "/api/register?other=1"] {
            let answer = bench.call("POST", target, contentType: nil)
            #expect(answer.status == 200)
            #expect(answer.body.wholeMatch(of: shape) != nil)
        }
        #expect(bench.hub.registrations().isEmpty)
    }

    @Test("An id that a client chose is escaped in the response") func anIDThatAClientChoseIsEscapedInTheResponse() {
        let bench = BackendFixture(.classic)
        bench.register("eve", id: "a%22b%3Cc", handle: "H")
        #expect(bench.call("POST", "/api/register?handle=H").body == "\"a\\\"b<c\"")
        #expect(bench.call("POST", "/api/register?handle=H", accept: "text/xml").body.hasSuffix(">a\"b&lt;c</string>"))
    }

    @Test("Every flavor accepts the clients' bodies", arguments: BackendFlavor.allCases)
    func everyFlavorAcceptsTheClientsBodies(_ flavor: BackendFlavor) {
        let bench = BackendFixture(flavor)
        let pretty = "{\n  \"Tags\" : [\n\n  ],\n  \"Handle\" : \"040b\",\n  \"Platform\" : \"apns\"\n}"
        #expect(bench.call("PUT", bench.target(id: "1"), body: pretty).status == 200)
        let compact = "{\"Platform\":\"wns\",\"Handle\":\"https://a.example/?token=A%2b&x=1\",\"Tags\":[\"myTag\"]}"
        let type = "application/json; charset=utf-8"
        #expect(bench.call("PUT", bench.target(id: "2"), contentType: type, body: compact).status == 200)
        #expect(bench.hub.registrations().map(\.handle) == ["040B", "https://a.example/?token=A%2b&x=1"])
        #expect(bench.hub.registrations().map(\.tags) == [["username:alice"], ["myTag", "username:alice"]])
    }

    @Test("The classic flavor accepts forms and lenient JSON") func theClassicFlavorAcceptsFormsAndLenientJSON() {
        let bench = BackendFixture(.classic)
        let form = "Platform=gcm&Handle=H%201&Tags[]=a&Tags[]=b"
        #expect(
            bench.call("PUT", "/api/register/1", contentType: "application/x-www-form-urlencoded", body: form).status
                == 200
        )
        let lenient = "/**/{Platform:'gcm','Handle':5,Tags:['a',7,null,],} trailing"
        #expect(bench.call("PUT", "/api/register/2", body: lenient).status == 200)
        #expect(bench.hub.registrations().map(\.handle) == ["H 1", "5"])
        #expect(
            bench.hub.registrations().map(\.tags) == [["a", "b", "username:alice"], ["a", "7", "username:alice"]]
        )
        #expect(bench.call("PUT", "/api/register/3", contentType: "text/plain", body: "{}").status == 415)
        #expect(bench.call("PUT", "/api/register/3", contentType: nil, body: "{}").status == 415)
        #expect(bench.call("PUT", "/api/register/3", contentType: "text/plain", body: "").status == 500)
    }

    @Test("The other flavors accept JSON only", arguments: [BackendFlavor.core, .net6])
    func theOtherFlavorsAcceptJSONOnly(_ flavor: BackendFlavor) {
        let bench = BackendFixture(flavor)
        let target = bench.target(id: "1")
        for type in [nil, "text/plain", "application/xml", "application/x-www-form-urlencoded", ""] {
            #expect(bench.call("PUT", target, contentType: type, body: "{}").status == 415)
        }
        for body in ["{Platform:'apns'}", "{\"Platform\":\"apns\",\"Handle\":5,\"Tags\":[]}", "{} x"] {
            #expect(bench.call("PUT", target, body: body).status == 400)
        }
    }

    @Test(
        "Credentials are decoded in the flavor's encoding",
        arguments: [
            "alice:alice", "a\u{300}:a\u{300}", "caf\u{e9}:caf\u{e9}",
        ])
    func readsCredentials(_ text: String) throws {
        let user = String(text.prefix { $0 != ":" })
        let credential = try BasicCredential(authorization: BackendFixture.basic(text), flavor: .core)
        #expect(credential.user == user)
        #expect(credential.isValid)
        // The handler of ASP.NET Web API decodes the bytes as Windows-1252.
        let classic = try BasicCredential(authorization: BackendFixture.basic("caf\u{e9}:x"), flavor: .classic)
        #expect(classic.user == "cafÃ©")
    }

    @Test("User and password compare by bytes") func userAndPasswordCompareByBytes() throws {
        let marked = try BasicCredential(authorization: BackendFixture.basic("a:\u{301}a"), flavor: .core)
        #expect(marked.user == "a" && marked.password == "\u{301}a")
        let credential = try BasicCredential(authorization: BackendFixture.basic("\u{e9}:e\u{301}"), flavor: .core)
        #expect(!credential.isValid)
    }
}
