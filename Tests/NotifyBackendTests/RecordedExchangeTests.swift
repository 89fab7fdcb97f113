import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@testable import NotifyBackend

/// Exchanges of Microsoft's SDK with the real service, repeated against the hub's REST interface. The recordings contain
/// only the targets and the responses; the requests are made from the responses.
///
/// Three things differ on purpose. Google Cloud Messaging has ended since, so its descriptions and notifications are 400.
/// Templates and Baidu are not modelled, so such registrations do not exist here. Members that the gateway never sends,
/// push variables and secondary tiles, are not kept.
@Suite("Recorded exchanges with the service")
struct RecordedExchangeTests {
    struct Recording: Decodable {
        struct Exchange: Decodable {
            enum CodingKeys: String, CodingKey {
                case target = "RequestUriPath"
                case status = "StatusCode"
                case fields = "Headers"
                case contentFields = "ContentHeaders"
                case content = "Content"
            }

            let target: String
            let status: Int
            let fields: [String: String]
            let contentFields: [String: String]
            let content: String?
        }

        enum CodingKeys: String, CodingKey {
            case exchanges = "HttpCalls"
        }

        let exchanges: [Exchange]
    }

    private static let folder = TestData.corpora?.appending(path: "hub-rest")

    private static let files: [String] = {
        let names = folder.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0.path()) } ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted()
    }()

    @Test(
        "Each exchange has the recorded status, fields and document",
        .enabled(if: !files.isEmpty, "the recordings are not on this machine"), arguments: files)
    func replay(file: String) throws {
        let bytes = try Data(contentsOf: try #require(Self.folder).appending(path: file))
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        let recording = try decoder.decode(Recording.self, from: bytes)
        let fixture = HubFixture(hubName: file.hasPrefix("SendDirect") ? "hub1" : "sdk-sample-nh")
        var ids: [String: String] = [:]
        for exchange in recording.exchanges { try replay(exchange, of: file, fixture, &ids) }
    }

    private func replay(
        _ exchange: Recording.Exchange, of file: String, _ fixture: HubFixture,
        _ ids: inout [String: String]
    ) throws {
        var target = exchange.target
        let path = target.prefix { $0 != "?" }
        let content = exchange.content ?? ""
        let isGoogle = content.contains("<GcmRegistrationDescription") || file.contains("SendGcm")
        switch (path.split(separator: "/").dropFirst().first, path.split(separator: "/").count) {
        case ("registrationids", _):
            let response = fixture.call("POST", target)
            #expect(response.status == exchange.status)
            let location = try #require(response.fields["Location"])
            #expect(Self.form(location) == Self.form(try #require(exchange.fields["Location"])))
        case ("messages", _):
            let isListenOnly = file.contains("ListenOnly")
            let response = fixture.send(
                target, format: isGoogle ? "gcm" : file.contains("Windows") ? "windows" : "apple",
                with: isListenOnly ? "Listen" : "Send")
            #expect(response.status == (isGoogle ? 400 : exchange.status))
            guard response.status == 201 else { return }
            #expect(response.contentType == exchange.contentFields["Content-Type"])
            #expect(
                Self.form(try #require(response.fields["Location"]))
                    == Self.form(try #require(exchange.fields["Location"])))
        case ("schedulednotifications", _):
            let time = fixture.hub.now().addingTimeInterval(3600).formatted(.iso8601)
            let response = fixture.send(
                target, format: "apple", fields: ["servicebusnotification-scheduletime": time])
            #expect(response.status == exchange.status)
            #expect(response.contentType == exchange.contentFields["Content-Type"])
            #expect(response.fields["Location"]?.contains("/sdk-sample-nh/schedulednotifications/") == true)
        case ("registrations", 2) where target.contains("$filter") || target.contains("$top"):
            // The first list of a recording names what was there before.
            if ids.isEmpty { for entry in Self.entries(content) { fixture.seed(entry, &ids) } }
            try check(fixture.call("GET", target), exchange, ids)
        case ("registrations", 2):
            let response = fixture.call("POST", target, body: Self.request(content))
            guard !isGoogle else { return #expect(response.status == 400) }
            if let own = Self.id(response.body), let recorded = Self.id(content) { ids[recorded] = own }
            try check(response, exchange, ids)
        default:
            let recorded = path.split(separator: "/").last.map(String.init) ?? ""
            let own = ids[recorded] ?? recorded
            target = target.replacing(recorded, with: own)
            guard exchange.status != 404 else {
                return try check(fixture.call("GET", target), exchange, ids)
            }
            guard content.isEmpty else {
                let response = fixture.call("PUT", target, body: Self.request(content))
                guard !isGoogle else { return #expect(response.status == 400) }
                ids[recorded] = own
                return try check(response, exchange, ids)
            }
            // What is not modelled does not exist here.
            guard ids[recorded] != nil else { return }
            #expect(fixture.call("DELETE", target).status == exchange.status)
        }
    }

    private func check(
        _ response: BackendResponse, _ exchange: Recording.Exchange, _ ids: [String: String]
    ) throws {
        #expect(response.status == exchange.status)
        #expect(response.contentType == exchange.contentFields["Content-Type"])
        #expect(response.fields["ETag"] == exchange.fields["ETag"])
        var recorded = exchange.content ?? ""
        for (theirs, own) in ids { recorded = recorded.replacing(theirs, with: own) }
        let known = Set(ids.values)
        #expect(try Self.shape(response.body, known) == Self.shape(recorded, known))
    }

    /// Returns the document's elements, attributes and texts, without times, hosts, and what is not modelled.
    private static func shape(_ document: String, _ ids: Set<String>) throws -> [String] {
        let part = document.replacing(/<entry a:etag(?:(?!<\/entry>)[\s\S])*<\/entry>/) { match in
            ids.contains { match.output.contains("<RegistrationId>\($0)<") } ? String(match.output) : ""
        }
        let text = part.replacing(/<(PushVariables|SecondaryTileName)>[\s\S]*?<\/\1>/, with: "")
            .replacing(/https?:\/\/[a-z0-9.-]+\//, with: "//host/")
            .replacing(/<(published|updated)>[^<]*</) { "<\($0.output.1)>time<" }
            .replacing(/<Detail>[^<]*</, with: "<Detail>detail<")
            .replacing(/23:59:59\.9+Z?</, with: "23:59:59.999<")
        var tokenizer = XMLTokenizer(text.utf8)
        var shape: [String] = []
        while let token = try tokenizer.next() {
            switch token {
            case .start(let name, let attributes):
                shape.append("<\(name) \(attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })")
            case .text(let text): shape.append(text)
            case .end(let name): shape.append("</\(name)")
            }
        }
        return shape
    }

    private static func entries(_ feed: String) -> [String] {
        feed.matches(of: /<entry a:etag[\s\S]*?<\/entry>/).map { String($0.output) }
    }

    private static func id(_ document: String) -> String? {
        document.firstMatch(of: /<RegistrationId>([^<]*)</).map { String($0.output.1) }
    }

    /// Returns the request that leads to an entry: the entry without what the service adds.
    private static func request(_ entry: String) -> String {
        entry.replacing(/<(ETag|ExpirationTime|RegistrationId)>[^<]*<\/\1>/, with: "")
    }

    /// Returns a URI with its ids and its host made equal.
    private static func form(_ uri: String) -> String {
        uri.replacing(/^https?:\/\/[^\/]+/, with: "").replacing(/[0-9a-f]{4,}(-?[0-9a-f]+)*/, with: "ID")
            .replacing(/\?.*/, with: "")
    }
}

extension HubFixture {
    /// Stores a registration of a recorded feed, unless its kind is not modelled.
    fileprivate func seed(_ entry: String, _ ids: inout [String: String]) {
        guard let id = entry.firstMatch(of: /<RegistrationId>([^<]*)</).map({ String($0.output.1) }) else { return }
        let document = entry.replacing("<entry ", with: "<entry xmlns=\"http://www.w3.org/2005/Atom\" ")
            .replacing(/<(ETag|ExpirationTime|RegistrationId)>[^<]*<\/\1>/, with: "")
        let response = call("PUT", "/\(access.hub)/registrations/\(id)?api-version=2017-04", body: document)
        if response.status == 200 { ids[id] = id }
    }
}
