import Testing

@testable import NotifyBackend

@Suite struct SendTests {
    @Test(
        "A payload equals the backend's frame byte for byte",
        arguments: [
            ("apns", "{\"aps\":{\"alert\":\"From U: M\"}}", 27),
            ("gcm", "{ \"data\" : {\"message\":\"From U: M\"}}", 33),
            ("fcm", "{ \"data\" : {\"message\":\"From U: M\"}}", 33),
            ("fcmv1", "{ \"message\":{\"data\" : {\"message\":\"From U: M\"}}}", 45),
            (
                "wns",
                "<toast><visual><binding template=\"ToastText01\"><text id=\"1\">From U: M"
                    + "</text></binding></visual></toast>",
                101
            ),
        ])
    func aPayloadEqualsTheBackendsFrameByteForByte(_ pns: String, _ payload: String, _ overhead: Int) throws {
        let built = try #require(PayloadTemplate.payload(pns: pns, user: "U", message: "M"))
        #expect(built == payload)
        let blank = try #require(PayloadTemplate.payload(pns: pns, user: "", message: ""))
        #expect(blank.utf8.count == overhead)
    }

    @Test("A platform without a template has no payload") func aPlatformWithoutATemplateHasNoPayload() {
        #expect(PayloadTemplate.payload(pns: "mpns", user: "U", message: "M") == nil)
    }

    @Test("A send reaches only the recipient's devices", arguments: BackendFlavor.allCases)
    func aSendReachesOnlyTheRecipientsDevices(_ flavor: BackendFlavor) {
        let bench = BackendFixture(flavor)
        bench.register("bob", id: "1")
        bench.register("bob", id: "2", platform: "apns", handle: "AB")
        bench.register("carol", id: "3")
        #expect(bench.send(to: "bob", body: "\"caf\\u00e9 \u{2013} \\\"x\\\"\"").status == 200)
        let template = PayloadTemplate.payload(pns: bench.google, user: "alice", message: "café – \"x\"")
        #expect(bench.payloads("H-1") == [template])
        #expect(bench.payloads("AB").isEmpty)
        #expect(bench.payloads("H-3").isEmpty)
        #expect(bench.send(to: "nobody").status == 200)
    }

    private func classicMessage(_ body: [UInt8], _ contentType: String? = "application/json") -> String? {
        let bench = BackendFixture(.classic)
        bench.register("bob", id: "1")
        let answer = bench.call(
            "POST",
            "/api/notifications?pns=gcm&to_tag=bob",
            contentType: contentType,
            body: body
        )
        guard answer.status == 200 else { return "status \(answer.status)" }
        let payload = bench.payloads("H-1").first
        return payload.map { String($0.dropFirst("{ \"data\" : {\"message\":\"From alice: ".count).dropLast(3)) }
    }

    @Test(
        "The classic flavor reads a lenient JSON message",
        arguments: [
            ("\"say \"hi\" now\"", "say "), ("\"C:\\x\"", ""), ("\"C:\\new\"", "C:\new"), ("hello", ""), ("", ""),
            ("'single'", "single"), ("/*c*/\"a\"", "a"), ("5", "5"), ("true", "true"), ("null", ""), ("{}", ""),
            ("[\"a\"]", ""),
            ("\"open", ""), ("\u{FEFF}\"bom\"", "bom"), ("  \"a\"  ", "a"),
        ])
    func theClassicFlavorReadsALenientJSONMessage(_ body: String, _ message: String) {
        #expect(classicMessage(Array(body.utf8)) == message)
    }

    @Test("The classic flavor reads messages of other media types and encodings")
    func theClassicFlavorReadsOtherMediaTypes() {
        #expect(classicMessage([0x22, 0x63, 0xE9, 0x22]) == "")
        #expect(classicMessage(Array("\"a\"".utf8), "text/plain") == "status 415")
        #expect(classicMessage(Array("\"a\"".utf8), nil) == "status 415")
        #expect(classicMessage([], "text/plain") == "")
        #expect(classicMessage(Array("=a+b%21".utf8), "application/x-www-form-urlencoded") == "a b!")
        #expect(classicMessage([0x22, 0, 0xE9, 0, 0x22, 0], "application/json; charset=utf-16") == "é")
        #expect(classicMessage([0xFF, 0xFE, 0x22, 0, 0x22, 0], "text/json;charset=\"UTF-16\"") == "")
        #expect(classicMessage([0x22], "application/json; charset=utf-16") == "")
        #expect(classicMessage([0x22, 0, 0, 0xD8, 0x22, 0], "application/json; charset=utf-16") == "")
        let xml =
            "<?xml version=\"1.0\"?>\n<string xmlns=\"http://schemas.microsoft.com/2003/10/Serialization/\">"
            + "a &lt;&#x62;</string>"
        #expect(classicMessage(Array(xml.utf8), "application/xml") == "a <b")
        for xml in [
            "<string/>", "<string>", "<other>a</other>", "<string>&bad;</string>", "<string><b/></string>", "<?", "&",
        ] {
            #expect(classicMessage(Array(xml.utf8), "text/xml") == "")
        }
    }

    @Test("The other flavors reject malformed messages", arguments: [BackendFlavor.core, .net6])
    func theOtherFlavorsRejectMalformedMessages(_ flavor: BackendFlavor) {
        let bench = BackendFixture(flavor)
        for body in ["\"say \"hi\" now\"", "\"C:\\x\"", "hello", "", "'a'", "5", "null", "{}"] {
            #expect(bench.send(to: "bob", body: body).status == 400, "\(body)")
        }
        let target = "/api/notifications?pns=apns&to_tag=bob"
        #expect(bench.call("POST", target, contentType: "text/plain", body: "\"a\"").status == 415)
        #expect(bench.call("POST", target, body: [0x22, 0xE9, 0x22]).status == 400)
        #expect(bench.send(to: "bob", body: "\"\"").status == 200)
    }

    @Test("An oversize message is accepted and dropped", arguments: BackendFlavor.allCases)
    func anOversizeMessageIsAcceptedAndDropped(_ flavor: BackendFlavor) {
        let bench = BackendFixture(flavor)
        bench.register("bob", id: "1")
        let body = "\"" + String(repeating: "x", count: 4096) + "\""
        #expect(bench.send(to: "bob", body: body).status == 200)
        #expect(bench.payloads("H-1").isEmpty)
    }
}
