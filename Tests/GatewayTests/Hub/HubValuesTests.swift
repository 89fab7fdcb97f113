import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

/// The connection string that the hub's tests share.
enum HubSample {
    static let key = "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1sb25nLi4uLi4="

    static let connection =
        "Endpoint=sb://contoso.servicebus.windows.net/;SharedAccessKeyName=ListenSend;SharedAccessKey=\(key)"

    static func settings(_ adjust: (inout HubSettings) -> Void = { _ in }) -> HubSettings {
        // The text is a valid connection string.
        var settings = HubSettings(connection: try! HubConnectionString(connection), name: "news")
        adjust(&settings)
        return settings
    }

    static func feed(_ ids: String...) -> String {
        let entries = ids.map { id in
            "<entry><id>https://x/registrations/\(id)</id><title type=\"text\">\(id)</title><content type=\"application/xml\">"
                + "<AppleRegistrationDescription xmlns=\"urn:x\"><RegistrationId>\(id)</RegistrationId><Tags>t</Tags>"
                + "</AppleRegistrationDescription></content></entry>"
        }
        return
            "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title type=\"text\">Registrations</title>\(entries.joined())</feed>"
    }
}

@Suite("Values of the hub's protocol")
struct HubValuesTests {
    @Test("Signatures equal those that OpenSSL's command line computes")
    func signatureVectors() {
        let vectors: [(resource: String, expiry: Int64, value: String)] = [
            (
                "https://contoso.servicebus.windows.net/news", 1_795_000_000,
                "SharedAccessSignature sr=https%3a%2f%2fcontoso.servicebus.windows.net%2fnews"
                    + "&sig=NHU814sjNeANGGYA1XuvJRILvRgL2UmWmCdGw2gtGjA%3d&se=1795000000&skn=ListenSend"
            ),
            (
                "http://127.0.0.1:5600/hub-1", 1_795_003_600,
                "SharedAccessSignature sr=http%3a%2f%2f127.0.0.1%3a5600%2fhub-1"
                    + "&sig=8Izk0HcuSJRoeNxNPuLOc2AiNU1wF0%2fQVOCXsoUQDUM%3d&se=1795003600&skn=ListenSend"
            ),
        ]
        for vector in vectors {
            let signature = HubSignature(
                resource: vector.resource, keyName: "ListenSend", key: Secret(HubSample.key.utf8))
            #expect(String(decoding: signature.value(expiry: vector.expiry), as: UTF8.self) == vector.value)
        }
    }

    @Test("A signature is kept for half of its lifetime, and made again earlier if the clock is set back")
    func renewal() {
        let signature = HubSignature(resource: "https://h/n", keyName: "k", key: Secret(HubSample.key.utf8))
        func expiry(at seconds: Int64) -> Int64? {
            let text = String(expecting: 400) { signature.append(to: &$0, now: WallTime(seconds: seconds)) }
            return text.split(separator: "&").first { $0.hasPrefix("se=") }.flatMap { Int64($0.dropFirst(3)) }
        }
        #expect(expiry(at: 10_000) == 13_600)
        #expect(expiry(at: 11_799) == 13_600)
        #expect(expiry(at: 11_800) == 15_400)
        #expect(expiry(at: 1000) == 4600)
    }

    @Test("A connection string is read in any order of its parts")
    func connectionString() throws {
        let read = try HubConnectionString(
            "SharedAccessKey=\(HubSample.key);Endpoint=sb://Contoso.ServiceBus.windows.net;SharedAccessKeyName=A-b_1.c")
        #expect(read.host == "contoso.servicebus.windows.net" && read.port == nil && read.keyName == "A-b_1.c")
        #expect(read.key.isEqual(to: Secret(HubSample.key.utf8)) && !read.isLocal)
        let local = try HubConnectionString(
            "Endpoint=sb://127.0.0.1:5600/;SharedAccessKeyName=a;SharedAccessKey=\(HubSample.key)")
        #expect(local.isLocal && local.port == 5600 && local.hostField == "127.0.0.1:5600")
    }

    @Test(
        "A text that is not a connection string is rejected without its key",
        arguments: [
            "", "x", "Endpoint=https://a.b/;SharedAccessKeyName=a;SharedAccessKey=0123456789abcdef",
            "Endpoint=sb://a.b/path;SharedAccessKeyName=a;SharedAccessKey=0123456789abcdef",
            "Endpoint=sb://a.b:0/;SharedAccessKeyName=a;SharedAccessKey=0123456789abcdef",
            "Endpoint=sb://a@b/;SharedAccessKeyName=a;SharedAccessKey=0123456789abcdef",
            "Endpoint=sb://a.b/;SharedAccessKeyName=a\r\n;SharedAccessKey=0123456789abcdef",
            "Endpoint=sb://a.b/;SharedAccessKeyName=a;SharedAccessKey=short",
            "Endpoint=sb://a.b/;SharedAccessKeyName=a;SharedAccessKey=0123456789abcdef;TransportType=Amqp",
            "Endpoint=sb://a.b/;Endpoint=sb://c.d/;SharedAccessKeyName=a;SharedAccessKey=0123456789abcdef",
        ])
    func malformedConnectionString(_ text: String) {
        #expect { try HubConnectionString(text) } throws: { !"\($0)".contains("0123456789abcdef") }
    }

    @Test("The ids of a feed are read, and only those of its entries")
    func feed() {
        #expect(HubEntry.ids(inFeed: HubSample.feed().utf8, of: .apns) == [])
        let two = HubSample.feed("11-22-3", "44-55-6")
        #expect(HubEntry.ids(inFeed: two.utf8, of: .apns) == [Sample.other, Sample.fresh])
        #expect(HubEntry.ids(inFeed: two.utf8, of: .wns) == [])
        let gcm = two.replacing("AppleReg", with: "GcmReg")
        #expect(HubEntry.ids(inFeed: gcm.utf8, of: .fcm) == [Sample.other, Sample.fresh])
        #expect(HubEntry.ids(inFeed: HubSample.feed("../x").utf8, of: .apns) == nil)
        #expect(HubEntry.ids(inFeed: "<feed><entry><content/></entry></feed>".utf8, of: .apns) == nil)
        #expect(HubEntry.ids(inFeed: "<html/>".utf8, of: .apns) == nil)
        #expect(HubEntry.ids(inFeed: "{}".utf8, of: .apns) == nil)
    }

    @Test("An id inside of a template or of tags is not taken for an entry's")
    func injectedID() {
        let hidden = "<RegistrationId>44-55-6</RegistrationId>"
        let body =
            "<BodyTemplate><![CDATA[\(hidden)]]></BodyTemplate><Tags>\(hidden.replacing("<", with: "&lt;"))</Tags>"
            + "<X>\(hidden)</X>"
        let feed = HubSample.feed("11-22-3").replacing("<Tags>t</Tags>", with: body)
        #expect(HubEntry.ids(inFeed: feed.utf8, of: .apns) == [Sample.other])
        // Two ids in one entry are no valid entry.
        let twice = HubSample.feed("11-22-3").replacing("<Tags>t</Tags>", with: hidden)
        #expect(HubEntry.ids(inFeed: twice.utf8, of: .apns) == nil)
    }

    @Test(
        "A payload has the text whole, whatever it contains",
        arguments: ["hi", "say \"hi\" \\ 'x'", "<b>&amp;</b>", "😀\u{85}\u{9F}\u{2028}", "{sender}{message}", "\t\r\n"])
    func payloads(_ text: String) throws {
        let sender = UserName(canonical: "alice")!
        for service in [PushService.apns, .fcm, .wns] {
            let payload = try HubPayloads().payload(of: text, for: service, from: sender)
            let read = DevicePayload.text(in: String(decoding: payload, as: UTF8.self))
            #expect(read.map { Array($0.utf8) } == Array("From alice: \(text)".utf8), "\(service)")
        }
    }

    @Test("A template replaces the payload of its service")
    func template() throws {
        var payloads = HubPayloads()
        try payloads.set(#"{"aps":{"alert":{"title":"{sender}","body":"{message}"},"sound":"{x}"}}"#, for: .apns)
        let payload = try payloads.payload(of: "a\"b", for: .apns, from: UserName(canonical: "alice")!)
        #expect(
            String(decoding: payload, as: UTF8.self)
                == #"{"aps":{"alert":{"title":"alice","body":"a\"b"},"sound":"{x}"}}"#)
    }

    @Test(
        "A template that a message could break out of is rejected",
        arguments: [
            (PushService.apns, #"{"aps":{"alert":"fixed"}}"#), (.apns, #"{"aps":{"alert":{message}}}"#),
            (.apns, #"{"{message}":1}"#), (.apns, #"["{message}"]"#), (.fcm, #"{"a":"{message}"#),
            (.wns, "<toast {message}='x'/>"), (.wns, "<toast>{message}"), (.wns, "{message}"), (.wns, "<{message}/>"),
        ])
    func unsafeTemplate(_ service: PushService, _ template: String) {
        var payloads = HubPayloads()
        #expect(throws: HubPayloads.Malformed.self) { try payloads.set(template, for: service) }
    }

    @Test(
        "A payload of exactly the service's limit is accepted, and one byte more is not",
        arguments: [PushService.apns, .fcm, .wns])
    func limits(_ service: PushService) throws {
        let codec = HubCodec(HubSample.settings(), clocks: ManualClock().clocks)
        let sender = UserName(canonical: "alice")!
        let frame = try codec.content(of: "", for: service, from: sender).count
        let longest = String(repeating: "x", count: service.payloadLimit - frame)
        #expect(try codec.content(of: longest, for: service, from: sender).count == service.payloadLimit)
        #expect { try codec.content(of: longest + "x", for: service, from: sender) } throws: {
            ($0 as? Rejection)?.code == .payloadTooLarge
        }
    }
}
