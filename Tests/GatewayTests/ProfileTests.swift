import GatewayCore
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

@Suite struct ProfileTests {
    @Test("Clients may use the profile's platform identifier and the known ones of the service")
    func platformIdentifiersOfClients() throws {
        let own = try #require(PlatformIdentifier("iOS"))
        let words = try #require(PlatformIdentifiers([.apns: own, .fcm: PlatformIdentifier(.fcmv1)]))
        for (word, service) in [
            ("iOS", PushService.apns), ("ios", .apns), ("apns", .apns), ("APNS", .apns), ("gcm", .fcm), ("fcm", .fcm),
            ("FcmV1", .fcm),
        ] { #expect(words.service(for: word) == service, "\(word)") }
        for word in ["wns", "mpns", "", "ıos", "ios ", "apns\u{301}"] {
            #expect(words.service(for: word) == nil, "\(word)")
        }
        #expect(words[.apns]?.text == "iOS" && words[.fcm]?.text == "fcmv1" && words[.wns] == nil)
    }

    @Test("One platform identifier stands for one service") func onePlatformIdentifierStandsForOneService() throws {
        let (one, other) = (try #require(PlatformIdentifier("push")), try #require(PlatformIdentifier("PUSH")))
        #expect(PlatformIdentifiers([.apns: one, .fcm: other]) == nil)
        #expect(PlatformIdentifiers([.apns: PlatformIdentifier(.gcm)]) == nil)
        #expect(PlatformIdentifiers([.fcm: PlatformIdentifier(.apns), .apns: PlatformIdentifier(.fcm)]) == nil)
        #expect(PlatformIdentifiers([.apns: one, .fcm: PlatformIdentifier(.gcm)]) != nil)
    }

    @Test(
        "An invalid platform identifier is rejected",
        arguments: ["", "a b", "a&b", "a%20", "é", "a/b", "a\r\n", String(repeating: "x", count: 33)])
    func anInvalidPlatformIdentifierIsRejected(_ text: String) { #expect(PlatformIdentifier(text) == nil) }

    @Test("The frame length is the configured one, the known one or the longest one")
    func theFrameLengthHasThreeSources() {
        var side = BackendProfile(.net6).backend
        #expect(side.allPayloadFrames()[PushService.fcm.index] == 45)
        side.pnsNames = PlatformIdentifiers([.gcm, .apns])
        #expect(side.allPayloadFrames()[PushService.fcm.index] == 33)
        side.pnsNames = PlatformIdentifiers([.fcm: PlatformIdentifier("android")!, .apns: PlatformIdentifier("ios")!])!
        #expect(
            side.allPayloadFrames()[PushService.fcm.index] == 45
                && side.allPayloadFrames()[PushService.apns.index] == 27)
        side.payloadFrames = [.fcm: 7]
        #expect(side.allPayloadFrames()[PushService.fcm.index] == 7)
    }

    @Test(
        "A registration id is read in its own format only",
        arguments: [
            (BackendProfile.IDFormat.json, "\"11-22-3\""), (.text, " 11-22-3\n"),
            (.xml, "<string xmlns=\"x\">11-22-3</string>"),
        ])
    func aRegistrationIDIsReadInItsOwnFormatOnly(_ form: BackendProfile.IDFormat, _ body: String) {
        #expect(ReservedIDParser.read(ByteBuffer(string: body), as: form) == Sample.other)
        #expect(ReservedIDParser.read(ByteBuffer(string: body), as: .any) == Sample.other)
        for other in BackendProfile.IDFormat.allCases where other != form && other != .any {
            #expect(ReservedIDParser.read(ByteBuffer(string: body), as: other) == nil)
        }
    }

    @Test("An id in a location that the profile's clients do not use is rejected")
    func anIDInALocationThatTheProfilesClientsDoNotUseIsRejected() async {
        func gateway(_ places: Set<BackendProfile.IDLocation>) -> TestGateway {
            TestGateway(adjust: { $0.client.idLocations = places }, deciding: { _ in .owned(Sample.other) })
        }
        let inPath = ReceivedRequest("DELETE /api/register/\(Sample.label)", as: "alice")
        let inQuery = ReceivedRequest("DELETE /api/register?id=\(Sample.label)", as: "alice")
        let inBoth = ReceivedRequest("DELETE /api/register/\(Sample.label)?id=\(Sample.label)", as: "alice")
        for (places, good, bad) in [
            ([.path], [inPath], [inQuery, inBoth]), ([.query], [inQuery], [inPath, inBoth]),
            ([.path, .query], [inPath, inQuery], [inBoth]),
        ] as [(Set<BackendProfile.IDLocation>, [ReceivedRequest], [ReceivedRequest])] {
            for request in good { #expect(await gateway(places).serve(request).status == 200) }
            for request in bad { await gateway(places).expect(.malformedRequest, for: request, "\(places)") }
        }
    }

    @Test("A registered device gets the status that its clients expect")
    func aRegisteredDeviceGetsTheStatusThatItsClientsExpect() async {
        for (status, body) in [(200, Sample.body("wns", Sample.wns)), (204, Sample.body())] {
            let gateway = TestGateway { $0.client.updateStatuses = [.apns: 204] }
            #expect(await gateway.serve(Sample.put(body)).withoutLimits == Response(status: status))
        }
    }

    @Test("The profile decides what the backend's statuses mean")
    func theProfileDecidesWhatTheBackendsStatusesMean() async {
        func end(_ request: ReceivedRequest, _ status: Int) async -> (status: Int, result: String?, steps: Int) {
            let gateway = TestGateway(
                adjust: { rules in
                    rules.upstreams[0].backend.successStatuses = [202]
                    rules.upstreams[0].backend.goneStatuses = [423]
                },
                answering: { $0.body.isEmpty && $0.method == "POST" ? .status(202, "44-55-6") : .status(202) },
                deciding: { request in
                    if case .delete = request { .owned(Sample.other) } else { .own(Sample.other) }
                })
            gateway.backend.queue(.status(status))
            let response = await gateway.serve(request)
            return (response.status, gateway.journal.records(.outcome).first?.result, gateway.backend.requests.count)
        }
        #expect(await end(Sample.send(), 202) == (200, "accepted", 1))
        #expect(await end(Sample.send(), 200) == (502, "backend-failed", 1))
        #expect(await end(Sample.put(), 423) == (200, "healed", 3))
        for status in [404, 410, 500] { #expect(await end(Sample.put(), status) == (502, "backend-failed", 1)) }
        #expect(await end(Sample.delete, 423) == (200, "neutralised", 2))
        for status in [404, 410] { #expect(await end(Sample.delete, status) == (200, "accepted", 1)) }
        #expect(await end(Sample.delete, 500) == (502, "backend-failed", 1))
    }
}
