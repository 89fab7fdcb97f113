import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

@Suite("Calls through a notification hub")
struct HubCallTests {
    private func gateway(
        _ adjust: (inout HubSettings) -> Void = { _ in },
        deciding decide: @escaping @Sendable (LedgerRequest) -> LedgerDecision = ScriptedLedger.emptyLedgerDecision
    ) -> TestGateway {
        let settings = HubSample.settings(adjust)
        return TestGateway(
            adjust: {
                $0.upstreams[0].hub = settings
                $0.upstreams[0].backend = .hub
            }, deciding: decide)
    }

    private func lines(_ gateway: TestGateway) -> [String] {
        gateway.backend.requests.map { "\($0.method) \($0.target)" }
    }

    private func location(_ path: String) -> String {
        "https://contoso.servicebus.windows.net/news/\(path)?api-version=2020-06"
    }

    private func created(_ path: String) -> BackendResult {
        .responded(BackendResponse(status: 201, location: location(path)))
    }

    private static let lookUp =
        "GET /news/registrations?api-version=2020-06&$filter=DeviceToken%20eq%20%27\(Sample.apns)%27&$top=20"
    private static let reserve = "POST /news/registrationids?api-version=2020-06"

    private static func put(_ id: RegistrationID) -> String { "PUT /news/registrations/\(id)?api-version=2020-06" }

    private static func delete(_ id: RegistrationID) -> String {
        "DELETE /news/registrations/\(id)?api-version=2020-06"
    }

    @Test("A device that the hub does not know gets a new id")
    func create() async throws {
        let gateway = gateway()
        gateway.backend.queue(.status(200, HubSample.feed()), created("registrationids/11-22-3"))
        let response = await gateway.serve(Sample.create)
        #expect(response.status == 200 && response.text == "\"11-22-3\"")
        #expect(lines(gateway) == [Self.lookUp, Self.reserve])
        #expect(gateway.ledger.changes == [.reserved(Sample.other, handle: Sample.handle())])
        #expect(gateway.backend.retryable == [false, false])
    }

    @Test("A request for an id deletes no registration, because the caller has not shown that the device is its own")
    func createDeletesNothing() async {
        let gateway = gateway()
        gateway.backend.queue(.status(200, HubSample.feed("11-22-3", "44-55-6")))
        #expect(await gateway.serve(Sample.create).text == "\"11-22-3\"")
        #expect(lines(gateway) == [Self.lookUp])
        #expect(gateway.ledger.superseded.isEmpty)
    }

    @Test("A device that the ledger knows gets the id of its registration, whatever the hub lists")
    func createOwn() async {
        let gateway = gateway(deciding: { _ in .own(Sample.other) })
        #expect(await gateway.serve(Sample.create).text == "\"11-22-3\"")
        #expect(lines(gateway).isEmpty)
        #expect(gateway.ledger.changes == [.reserved(Sample.other, handle: nil)])
        #expect(gateway.journal.records(.outcome).first?.facts?.registration == Sample.other)
    }

    @Test("A device's registration from before the gateway is adopted, and its other registrations are deleted")
    func adoption() async throws {
        let gateway = gateway()
        gateway.ledger.setHeldIDs([])
        gateway.backend.queue(
            .status(200, HubSample.feed("2372532420827572008-85883004107185159-4", "44-55-6")),
            .status(200, "<entry/>"))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway) == [Self.lookUp, Self.put(Sample.label)])
        #expect(gateway.ledger.superseded == [Sample.fresh])
        #expect(gateway.journal.records(.outcome).first?.result == "adopted")
    }

    @Test("An update uses the id that the ledger has, and each deletion of the others is recorded before the response")
    func surplus() async throws {
        let deciding: @Sendable (LedgerRequest) -> LedgerDecision = { request in
            switch request {
            case .sweep(let id): .pendingDeletion(id, owner: nil, because: .superseded)
            default: .own(Sample.other)
            }
        }
        let gateway = gateway(deciding: deciding)
        gateway.backend.queue(.status(200, HubSample.feed("44-55-6", "11-22-3")))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway) == [Self.lookUp, Self.put(Sample.other), Self.delete(Sample.fresh)])
        #expect(gateway.ledger.superseded == [Sample.fresh])
        #expect(
            gateway.ledger.changes == [.registered(Sample.other, replacing: nil), .deleted(Sample.fresh)])
        let deletion = try #require(gateway.journal.records(.intent).last)
        #expect(deletion.facts?.rule == "superseded" && deletion.facts?.registration == Sample.fresh)
        #expect(deletion.facts?.call != gateway.journal.records(.intent).first?.facts?.call)
        #expect(gateway.journal.records(.outcome).map(\.result) == ["accepted", "accepted"])
    }

    @Test("A registration that the ledger holds for another handle is not used for this device")
    func heldIDs() async {
        let gateway = gateway()
        gateway.ledger.setHeldIDs([Sample.fresh])
        gateway.backend.queue(.status(200, HubSample.feed("44-55-6", "11-22-3")))
        _ = await gateway.serve(Sample.put())
        #expect(lines(gateway) == [Self.lookUp, Self.put(Sample.other)])
        #expect(gateway.ledger.superseded == [Sample.fresh])
    }

    @Test(
        "A template or an installation of the same device is neither used nor deleted",
        arguments: [
            ("AppleRegistrationDescription", "AppleTemplateRegistrationDescription"),
            ("<Tags>t</Tags>", "<Tags>t,$InstallationId:{1}</Tags>"),
            ("<Tags>t</Tags>", "<Tags> $installationid:{1}</Tags>"),
            ("AppleRegistrationDescription", "WindowsRegistrationDescription"),
        ])
    func foreignKinds(former: String, present: String) async {
        let gateway = gateway(deciding: { _ in .own(Sample.other) })
        let feed = HubSample.feed("44-55-6").replacing(former, with: present)
        gateway.backend.queue(.status(200, feed))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway) == [Self.lookUp, Self.put(Sample.other)])
        #expect(gateway.ledger.superseded.isEmpty)
    }

    @Test("An upsert has the entry of the platform with the caller's tag and the permitted ones")
    func upsert() async throws {
        let gateway = gateway(deciding: { _ in .own(Sample.other) })
        gateway.backend.queue(.status(200, HubSample.feed()))
        #expect(await gateway.serve(Sample.put(Sample.body("gcm", Sample.fcm, tags: #"["topic:a"]"#))).status == 200)
        let request = try #require(gateway.backend.requests.last)
        #expect(lines(gateway).dropFirst() == [Self.put(Sample.other)])
        #expect(request.values("Content-Type") == ["application/atom+xml;type=entry;charset=utf-8"])
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == #"<?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom">"#
                + #"<content type="application/xml"><FcmV1RegistrationDescription"#
                + #" xmlns:i="http://www.w3.org/2001/XMLSchema-instance""#
                + #" xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">"#
                + "<Tags>username:alice,topic:a</Tags><FcmV1RegistrationId>\(Sample.fcm)</FcmV1RegistrationId>"
                + "</FcmV1RegistrationDescription></content></entry>")
    }

    @Test("A channel URI is escaped in the entry and in the filter")
    func channelURI() async throws {
        let gateway = gateway()
        gateway.backend.queue(.status(200, HubSample.feed()), created("registrationids/11-22-3"))
        #expect(await gateway.serve(Sample.put(Sample.body("wns", Sample.wns))).status == 202)
        let requests = gateway.backend.requests
        #expect(requests.first?.target.contains("ChannelUri%20eq%20%27https%3a%2f%2fdb5.notify.windows.com") == true)
        let body = String(decoding: try #require(requests.last?.body), as: UTF8.self)
        #expect(body.contains("</Tags><ChannelUri>") && body.contains("&amp;x=1</ChannelUri>"))
        #expect(body.contains("<WindowsRegistrationDescription "))
    }

    @Test("A registration that the hub has lost is made again under another id")
    func healing() async {
        let gateway = gateway(deciding: { _ in .own(Sample.other) })
        gateway.backend.queue(.status(200, HubSample.feed()), .status(410), created("registrationids/44-55-6"))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway) == [Self.lookUp, Self.put(Sample.other), Self.reserve, Self.put(Sample.fresh)])
        #expect(gateway.journal.records(.outcome).first?.result == "healed")
    }

    @Test("A deletion names any version, and a missing registration counts as deleted", arguments: [200, 404])
    func deletion(status: Int) async throws {
        let gateway = gateway(deciding: { _ in .owned(Sample.other) })
        gateway.backend.queue(.status(status))
        #expect(await gateway.serve(Sample.delete).status == 200)
        #expect(lines(gateway) == [Self.delete(Sample.other)])
        #expect(try #require(gateway.backend.requests.first).values("If-Match") == ["*"])
    }

    @Test(
        "A send has the format and the fields of its platform, the recipient's tag and the whole payload",
        arguments: [
            ("apns", ["apple"], "application/json;charset=utf-8", #"{"aps":{"alert":"From alice: hi"}}"#),
            ("gcm", ["fcmV1"], "application/json;charset=utf-8", #"{"message":{"data":{"message":"From alice: hi"}}}"#),
            (
                "wns", ["windows"], "application/xml;charset=utf-8",
                #"<toast><visual><binding template="ToastText01"><text id="1">From alice: hi</text></binding></visual></toast>"#
            ),
        ])
    func send(_ pns: String, _ format: [String], _ type: String, _ payload: String) async throws {
        let gateway = gateway()
        gateway.backend.queue(created("messages/73622a22-18"))
        #expect(await gateway.serve(Sample.send(pns: pns)).status == 200)
        let request = try #require(gateway.backend.requests.first)
        #expect(request.method == "POST" && request.target == "/news/messages?api-version=2020-06")
        #expect(request.values("ServiceBusNotification-Format") == format)
        #expect(request.values("ServiceBusNotification-Tags") == ["username:bob"])
        #expect(request.values("Content-Type") == [type])
        #expect(request.values("apns-push-type") == (pns == "apns" ? ["alert"] : []))
        #expect(request.values("X-WNS-Type") == (pns == "wns" ? ["wns/toast"] : []))
        #expect(String(decoding: request.body, as: UTF8.self) == payload)
        #expect(gateway.backend.retryable == [false])
        #expect(gateway.journal.records(.outcome).first?.notification == "73622a22-18")
    }

    @Test("The configured fields of Apple devices are sent")
    func apnsFields() async throws {
        let gateway = gateway {
            $0.apns.pushType = "background"
            $0.apns.priority = 5
            $0.apns.collapseID = "news"
            $0.apns.lifetime = .seconds(60)
        }
        _ = await gateway.serve(Sample.send())
        let request = try #require(gateway.backend.requests.first)
        #expect(request.values("apns-push-type") == ["background"] && request.values("apns-priority") == ["5"])
        #expect(request.values("apns-collapse-id") == ["news"])
        #expect(
            request.values("ServiceBusNotification-Apns-Expiry")
                == [gateway.clock.clocks.wall().adding(60_000_000).description])
    }

    @Test("A request has a signature and no data of the client's request or of the caller")
    func signature() async throws {
        let gateway = gateway()
        _ = await gateway.serve(Sample.send())
        let request = try #require(gateway.backend.requests.first)
        let value = try #require(request.values("Authorization").first)
        #expect(value.hasPrefix("SharedAccessSignature sr=https%3a%2f%2fcontoso.servicebus.windows.net%2fnews&sig="))
        #expect(request.values("Host") == ["contoso.servicebus.windows.net"])
        #expect(request.values("X-Request-Id").isEmpty && request.values("traceparent").isEmpty)
    }

    @Test(
        "A hub that is too busy gets no requests of that kind until the time that it names",
        arguments: [
            (429, "", 7), (503, "", 7), (409, "", 7),
            (403, "<Error><Code>403</Code><Detail>The Quota of this namespace is used up.</Detail></Error>", 7),
        ])
    func pause(_ status: Int, _ body: String, _ seconds: Int) async throws {
        let gateway = gateway(deciding: { _ in .own(Sample.other) })
        gateway.backend.queue(
            .responded(BackendResponse(status: status, body: ByteBuffer(string: body), retryAfter: seconds)))
        let first = await gateway.serve(Sample.send())
        #expect(first.code == .overloaded && first.status == 503 && first.values("Retry-After") == ["\(seconds)"])
        #expect(gateway.journal.records(.outcome).first?.result == "overloaded")
        // A further send is rejected before it is recorded; a registration goes on.
        let second = await gateway.serve(Sample.send())
        #expect(second.code == .overloaded && second.values("Retry-After") == ["\(seconds)"])
        #expect(gateway.journal.records(.intent).count == 1 && gateway.backend.requests.count == 1)
        gateway.backend.queue(.status(200, HubSample.feed()))
        #expect(await gateway.serve(Sample.put()).status == 200)
        gateway.clock.advance(by: .seconds(seconds))
        #expect(await gateway.serve(Sample.send()).status == 200)
    }

    @Test("A key without the right for a send is a failure and no pause")
    func missingRight() async throws {
        let gateway = gateway()
        gateway.backend.queue(.status(403, "<Error><Code>403</Code><Detail>Not allowed</Detail></Error>"))
        let response = await gateway.serve(Sample.send())
        #expect(response.code == .backendFailed && !response.text.contains("Not allowed"))
        #expect(await gateway.serve(Sample.send()).status == 200)
    }

    @Test(
        "A response of the hub that makes no sense is a failure",
        arguments: ["", "<feed>", "{}", "<feed><entry/></feed>", "<html/>"])
    func invalidFeed(_ body: String) async {
        let gateway = gateway()
        gateway.backend.queue(.status(200, body))
        #expect(await gateway.serve(Sample.create).code == .backendFailed)
        #expect(gateway.ledger.changes.isEmpty)
    }

    @Test(
        "An id of the hub outside of the grammar is a failure", arguments: [nil, "x", "https://h/registrationids/.."])
    func invalidID(_ location: String?) async {
        let gateway = gateway()
        gateway.backend.queue(
            .status(200, HubSample.feed()), .responded(BackendResponse(status: 201, location: location)))
        #expect(await gateway.serve(Sample.create).code == .backendFailed)
    }
}
