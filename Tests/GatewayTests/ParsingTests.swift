import GatewayCore
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

@Suite struct ParsingTests {
    private func parse(
        _ request: ReceivedRequest, _ profile: BackendProfile.BuiltIn = .classic
    ) throws -> (Call, CallFacts) {
        let profile = BackendProfile(profile)
        let parsing = Parsing(
            routes: RouteTable(profile.client, issuesTokens: true), names: NameRules(), handles: HandleRules(),
            client: profile.client,
            platforms: ServedPlatforms([UpstreamRules(backend: profile.backend, host: "backend.test")]), messages: .auto
        )
        let parsed = try parsing.parse(request)
        return (parsed.call, parsed.facts)
    }

    private func update(
        _ request: ReceivedRequest, _ profile: BackendProfile.BuiltIn = .classic
    ) throws
        -> (RegistrationID, RequestedRegistration)
    {
        guard case .registration(.update(let label, let registration)) = try parse(request, profile).0
        else { throw Missing() }
        return (label, registration)
    }

    private func send(_ request: ReceivedRequest, _ profile: BackendProfile.BuiltIn = .classic) throws -> RequestedSend
    {
        guard case .send(let send, _) = try parse(request, profile).0 else { throw Missing() }
        return send
    }

    private struct Missing: Error {}

    @Test("A changed copy of a request leaves the original unchanged")
    func value() {
        let request = Sample.create
        var other = request
        other.path = ByteBuffer(string: "/elsewhere")
        other.clientDisconnect = ClientDisconnect()
        #expect(request.path != other.path && request.clientDisconnect == nil && other.clientDisconnect != nil)
        #expect(request.method == other.method && request.peer == other.peer)
    }

    @Test("A create request is parsed with its handle, or without one") func create() throws {
        guard case .registration(.create(let handle?)) = try parse(Sample.create).0 else { throw Missing() }
        #expect(handle == Sample.handle())
        // The requests have no handle or an empty one, no body, and the content type that Windows clients send.
        for line in [
            "POST /api/register", "POST /api/register?", "POST /api/register?handle=", "POST /api/register?HANDLE",
        ] {
            let request = ReceivedRequest(line, contentType: .text("text/plain; charset=utf-8"))
            guard case .registration(.create(nil)) = try parse(request).0 else { throw Missing() }
        }
    }

    @Test("An update accepts every platform identifier") func anUpdateAcceptsEveryPlatformIdentifier() throws {
        for (word, handle, service) in [
            ("apns", Sample.apns, PushService.apns), ("APNS", Sample.apns, .apns), ("gcm", Sample.fcm, .fcm),
            ("fcm", Sample.fcm, .fcm), ("FcmV1", Sample.fcm, .fcm), ("wns", Sample.wns, .wns),
            ("mpns", "http://sn1.notify.live.net/x", .mpns),
        ] {
            let (label, registration) = try update(Sample.put(Sample.body(word, handle)))
            #expect(label == Sample.label)
            #expect(registration.handle == Sample.handle(handle, service))
            #expect(registration.tags.isEmpty)
        }
    }

    @Test(
        "An update accepts any valid JSON form of its body",
        arguments: [
            "{\"platform\":\"apns\",\"HANDLE\":\"\(Sample.apns)\",\"tAgS\":[\"a\"]}",
            " \r\n{\n  \"Tags\" : [\n\"a\"\n  ],\n  \"Handle\" : \"\(Sample.apns.lowercased())\",\n \"Platform\" : \"apns\"\n}\n",
            "{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\",\"Tags\":[\"a\"],\"Extra\":{\"x\":[1]},\"Id\":\"1-2-3\"}",
            "\u{FEFF}{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\",\"Tags\":[\"\\u0061\"]}",
        ])
    func anUpdateAcceptsAnyJSONForm(_ body: String) throws {
        let (_, registration) = try update(Sample.put(body))
        #expect(registration == RequestedRegistration(handle: Sample.handle(), tags: ["a"]))
    }

    @Test(
        "An update without tags has an empty tag list",
        arguments: [
            "{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\"}",
            "{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\",\"Tags\":null}",
        ])
    func anUpdateWithoutTagsHasAnEmptyTagList(_ body: String) throws {
        #expect(try update(Sample.put(body)).1.tags.isEmpty)
    }

    @Test("The registration id is read from where the profile places it")
    func theRegistrationIDIsReadFromWhereTheProfilePlacesIt() throws {
        let query = "/api/register?id=\(Sample.label)"
        for profile in BackendProfile.BuiltIn.allCases {
            guard case .registration(.delete(Sample.label)) = try parse(Sample.delete, profile).0
            else { throw Missing() }
        }
        guard case .registration(.delete(Sample.label)) = try parse(ReceivedRequest("DELETE \(query)"), .core).0
        else { throw Missing() }
        #expect(try update(ReceivedRequest("PUT \(query)", json: Sample.body()), .core).0 == Sample.label)
    }

    @Test("A send is parsed from any order and case of its parameters") func sends() throws {
        let expected = RequestedSend(service: .apns, recipient: UserName(canonical: "bob")!, text: "hi")
        for line in ["?pns=apns&to_tag=bob", "?to_tag=BOB&pns=APNS", "?PNS=ap%6Es&To_Tag=%62ob"] {
            let request = ReceivedRequest("POST /api/notifications\(line)", json: "\"hi\"")
            #expect(try send(request) == expected)
        }
        #expect(try parse(Sample.send()).1.recipient?.text == "bob")
        #expect(try parse(Sample.send()).1.bytes == 2)
        for (profile, word) in [(BackendProfile.BuiltIn.classic, "fcmv1"), (.core, "gcm"), (.net6, "fcm")] {
            #expect(try send(Sample.send(pns: word), profile).service == .fcm)
        }
        #expect(try send(Sample.send(to: "a%40b.example")).recipient.text == "a@b.example")
    }

    @Test("A send accepts JSON media types with supported charsets")
    func aSendAcceptsJSONMediaTypesWithSupportedCharsets() throws {
        for type in [
            "application/json", "Application/JSON", "application/json;charset=utf-8", "application/json; charset=UTF-8",
            "application/json ; charset=\"iso-8859-1\"", "application/json;charset=us-ascii;x=y",
        ] {
            var request = Sample.send()
            request.contentType = .text(type)
            #expect(try send(request).text == "hi")
        }
        var request = Sample.send()
        request.contentType = .absent
        request.contentEncoding = .text("Identity")
        #expect(try send(request).text == "hi")
    }

    @Test("A whoami request is parsed") func whoami() throws {
        guard case .local(.whoami) = try parse(Sample.whoami).0 else { throw Missing() }
    }

    @Test("A registration body in ISO-8859-1 is decoded") func aRegistrationBodyInISO88591IsDecoded() throws {
        let body =
            Array("{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\",\"Tags\":[\"caf".utf8) + [0xE9]
            + Array("\"]}".utf8)
        let request = ReceivedRequest(
            "PUT /api/register/\(Sample.label)", contentType: .text("application/json"), body: body)
        #expect(try update(request).1.tags == ["café"])
    }
}
