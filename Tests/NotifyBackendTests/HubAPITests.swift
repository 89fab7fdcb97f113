import Foundation
import GatewaySupport
import Testing

@testable import NotifyBackend

@Suite("The hub's REST interface")
struct HubAPITests {
    private let hub = HubFixture()
    private static let version = "?api-version=2020-06"
    private static let put = "/demo/registrations/1-2-3\(version)"
    private static let messages = "/demo/messages\(version)"

    private func entry(
        _ element: String = "AppleRegistrationDescription", _ handle: String = "<DeviceToken>AB</DeviceToken>",
        tags: String = "username:bob"
    ) -> String {
        #"<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><"# + element
            + #" xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">"#
            + "<Tags>\(tags)</Tags>\(handle)</\(element)></content></entry>"
    }

    @Test("A request without a valid signature is 401")
    func signatures() {
        let target = "/demo/registrations/1-2-3\(Self.version)"
        for authorization in [
            nil, "Basic eDp4", "SharedAccessSignature ", "SharedAccessSignature sr=x&sig=y&se=z&skn=Manage",
            hub.signature(key: "another-key-0123456789"), hub.signature("Nobody"),
            hub.signature(expiry: Int64(HubFixture.now.timeIntervalSince1970)),
            hub.signature(resource: "https://other.test/demo"), hub.signature(resource: "https://hub.test/dem"),
            hub.signature(resource: "https://hub.test/demo/messages"), hub.signature() + "&se=9999999999",
        ] {
            #expect(hub.call("GET", target, authorization: authorization).status == 401, "\(authorization ?? "-")")
        }
        for resource in ["sb://hub.test/demo", "https://hub.test/demo/", "http://hub.test/demo/registrations"] {
            let authorization = hub.signature(resource: resource)
            #expect(hub.call("GET", target, authorization: authorization).status == 404, "\(resource)")
        }
    }

    @Test("A key is limited to its rights")
    func rights() {
        func statuses(_ policy: String) -> [Int] {
            let signature = hub.signature(policy)
            return [
                hub.call("POST", "/demo/registrationids\(Self.version)", authorization: signature).status,
                hub.call("GET", "/demo/registrations\(Self.version)", authorization: signature).status,
                hub.send(Self.messages, format: "apple", with: policy).status,
                hub.call("GET", "/demo\(Self.version)", authorization: signature).status,
            ]
        }
        #expect(statuses("Listen") == [201, 403, 403, 403])
        #expect(statuses("Send") == [403, 403, 201, 403])
        #expect(statuses("Manage") == [201, 200, 201, 200])
    }

    @Test("Another version, hub, resource or method is rejected")
    func targets() {
        #expect(hub.call("GET", "/demo/registrations?api-version=2013-10").status == 400)
        #expect(hub.call("GET", "/demo/registrations").status == 400)
        #expect(
            hub.call(
                "GET", "/other/registrations\(Self.version)",
                authorization: hub.signature(resource: "https://hub.test/other")
            ).status == 404)
        #expect(hub.call("GET", "/demo/installations/x\(Self.version)").status == 404)
        #expect(hub.call("PATCH", Self.put).status == 405)
    }

    @Test("A registration is created, overwritten, read and deleted, and its entity tag counts")
    func registration() throws {
        let first = hub.call("PUT", Self.put, body: entry())
        #expect(first.status == 200 && first.fields["ETag"] == "W/\"1\"")
        #expect(first.contentType == "application/atom+xml; type=entry; charset=utf-8")
        #expect(hub.hub.registrations().map(\.tags) == [["username:bob"]])
        #expect(hub.call("PUT", Self.put, body: entry(tags: "a, b")).fields["ETag"] == "W/\"2\"")
        #expect(hub.hub.registrations().map(\.tags) == [["a", "b"]])
        #expect(hub.call("PUT", Self.put, body: entry(), fields: ["if-match": "W/\"1\""]).status == 412)
        #expect(hub.call("PUT", Self.put, body: entry(), fields: ["if-match": "W/\"2\""]).status == 200)
        #expect(hub.call("GET", Self.put).body.contains("<Tags>username:bob</Tags><DeviceToken>AB</DeviceToken>"))
        #expect(hub.call("DELETE", Self.put, fields: ["if-match": "W/\"1\""]).status == 412)
        #expect(hub.call("DELETE", Self.put).status == 200)
        #expect(hub.call("DELETE", Self.put).status == 404)
        #expect(hub.call("GET", Self.put).status == 404)
    }

    @Test("An id that the hub has lost is 410")
    func gone() {
        #expect(hub.call("PUT", Self.put, body: entry()).status == 200)
        hub.hub.expire(registration: "1-2-3")
        #expect(hub.call("PUT", Self.put, body: entry()).status == 410)
    }

    @Test(
        "An entry that is not one is 400",
        arguments: [
            "", "{}", "<entry/>", "<!DOCTYPE x><entry/>",
            "<entry><content><AppleRegistrationDescription><DeviceToken>A</DeviceToken></AppleRegistrationDescription></content></entry>",
        ])
    func malformedEntry(_ body: String) {
        #expect(hub.call("PUT", Self.put, body: body).status == 400)
    }

    @Test("Platforms have elements of their own, and Google Cloud Messaging has ended")
    func platforms() {
        for (element, handle, platform) in [
            ("WindowsRegistrationDescription", "<ChannelUri>https://x/?a&amp;b</ChannelUri>", "wns"),
            ("MpnsRegistrationDescription", "<ChannelUri>https://x/</ChannelUri>", "mpns"),
            ("FcmV1RegistrationDescription", "<FcmV1RegistrationId>t</FcmV1RegistrationId>", "fcmv1"),
        ] {
            #expect(hub.call("PUT", Self.put, body: entry(element, handle)).status == 200)
            #expect(hub.hub.registrations().map(\.platform) == [platform])
        }
        let google = entry("GcmRegistrationDescription", "<GcmRegistrationId>t</GcmRegistrationId>")
        #expect(hub.call("PUT", Self.put, body: google).status == 400)
        // The element of another platform's handle.
        #expect(
            hub.call("PUT", Self.put, body: entry("AppleRegistrationDescription", "<ChannelUri>x</ChannelUri>")).status
                == 400)
    }

    @Test("A list is read in pages")
    func pages() throws {
        for number in 1...5 {
            let target = "/demo/registrations/1-2-\(number)\(Self.version)"
            #expect(hub.call("PUT", target, body: entry()).status == 200)
        }
        var seen: [String] = []
        var target = "/demo/registrations\(Self.version)&$top=2"
        while true {
            let page = hub.call("GET", target)
            #expect(page.status == 200)
            seen += page.body.matches(of: /<RegistrationId>([^<]*)</).map { String($0.output.1) }
            guard let token = page.fields["X-MS-ContinuationToken"] else { break }
            target = "/demo/registrations\(Self.version)&$top=2&ContinuationToken=\(token)"
        }
        #expect(seen == (1...5).map { "1-2-\($0)" })
        for top in ["0", "101", "x"] {
            #expect(hub.call("GET", "/demo/registrations\(Self.version)&$top=\(top)").status == 400)
        }
    }

    @Test("A filter finds the registrations of one handle")
    func filter() {
        #expect(hub.call("PUT", Self.put, body: entry()).status == 200)
        func found(_ filter: String) -> Int? {
            let response = hub.call("GET", "/demo/registrations\(Self.version)&$filter=\(filter)")
            return response.status == 200 ? response.body.matches(of: /<RegistrationId>/).count : nil
        }
        #expect(found("DeviceToken%20eq%20%27AB%27") == 1)
        #expect(found("ChannelUri+eq+%27AB%27") == 1)
        #expect(found("FcmV1RegistrationId%20eq%20%27AB%27") == 0)
        #expect(found("DeviceToken%20eq%20%27A%27") == 0)
        #expect(found("DeviceToken%20eq%20%27A%27%20or%20DeviceToken%20eq%20%27AB%27") == nil)
        #expect(found("Tags%20eq%20%27a%27") == nil)
    }

    @Test("A notification reaches the devices of its tags, with the fields for the push service")
    func messages() throws {
        #expect(hub.call("PUT", Self.put, body: entry()).status == 200)
        let fields = ["servicebusnotification-tags": "username:bob", "apns-push-type": "alert", "cookie": "x"]
        let response = hub.send(Self.messages, format: "apple", payload: #"{"aps":{}}"#, fields: fields)
        #expect(response.status == 201 && response.fields["Location"]?.contains("/demo/messages/") == true)
        #expect(hub.send(Self.messages, format: "windows", fields: fields).status == 201)
        let inbox = hub.hub.inbox(ofHandle: "AB")
        #expect(inbox.map(\.payload) == [#"{"aps":{}}"#] && inbox.first?.fields == ["apns-push-type": "alert"])
        #expect(hub.send(Self.messages, format: "apple").status == 201)
        #expect(hub.hub.inbox(ofHandle: "AB").count == 2)
    }

    @Test("A notification that no push service takes is rejected")
    func rejectedMessages() {
        for format in [nil, "gcm", "template", ""] { #expect(hub.send(Self.messages, format: format).status == 400) }
        let json = ["content-type": "application/json"]
        #expect(hub.send(Self.messages, format: "windows", fields: json).status == 400)
        #expect(hub.send(Self.messages, format: "windows", payload: "<toast>").status == 400)
        #expect(hub.send(Self.messages, format: "apple", payload: "[]").status == 400)
        #expect(hub.send(Self.messages, format: "fcmV1", payload: "{}").status == 400)
        #expect(
            hub.send(
                Self.messages, format: "apple", fields: ["servicebusnotification-tags": "a && || b"]
            ).status == 400)
        let large = #"{"a":""# + String(repeating: "x", count: 4096 - 8) + #""}"#
        #expect(hub.send(Self.messages, format: "apple", payload: large).status == 201)
        #expect(hub.send(Self.messages, format: "apple", payload: large + " ").status == 413)
    }

    @Test("Injected faults have the statuses of the service")
    func faults() {
        for (fault, status) in [
            (HubFault.upsertBusy, 429), (.upsertGone, 410), (.upsertFails, 500),
        ] {
            hub.hub.inject(fault)
            let response = hub.call("PUT", Self.put, body: entry())
            #expect(response.status == status && (response.fields["Retry-After"] != nil) == (status == 429))
            #expect(response.body.contains("<Error><Code>\(status)</Code>"))
        }
        hub.hub.inject(.sendBusy)
        #expect(hub.send(Self.messages, format: "apple").status == 429)
    }
}
