import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Synchronization
import Testing

@testable import Gateway

/// Mutated requests of a hostile peer, served by the whole request pipeline. No request traps, and the backend receives
/// exactly what the gateway decided.
@Suite struct HostileBytesTests {
    private struct Seed {
        var method: HTTPMethod?
        var path: String
        var query: String?
        var contentType: String?
        var body: String = ""
    }

    private static let seeds: [Seed] = [
        Seed(method: .post, path: "/api/register", query: "handle=\(Sample.apns)"),
        Seed(
            method: .post, path: "/api/register",
            query: "handle=https%3A%2F%2Fdb5.notify.windows.com%2F%3Ftoken%3DA%252b"),
        Seed(method: .put, path: "/api/register/\(Sample.label)", contentType: "application/json", body: Sample.body()),
        Seed(
            method: .put, path: "/api/register/\(Sample.label)",
            body: Sample.body("gcm", Sample.fcm, tags: "[\"topic:a\",\"username:alice\"]")),
        Seed(
            method: .put, path: "/api/register", query: "id=\(Sample.label)",
            body: Sample.body("wns", Sample.wns, tags: "[\"topic:x\"]")),
        Seed(method: .delete, path: "/api/register/\(Sample.label)"),
        Seed(method: .delete, path: "/api/register", query: "id=\(Sample.label)"),
        Seed(
            method: .post, path: "/api/notifications", query: "pns=apns&to_tag=bob",
            contentType: "application/json;charset=utf-8", body: "\"hi \\u0022there\\u0022\""),
        Seed(
            method: .post, path: "/api/notifications", query: "pns=gcm&to_tag=carol%40x",
            body: "\"He said \"hi\" – café\""),
        Seed(method: .post, path: "/api/notifications", query: "to_tag=bob&pns=wns", body: "\"C:\\windows & <b>\""),
        Seed(method: .get, path: "/auth/whoami"),
    ]

    private static let pieces: [[UInt8]] =
        [
            "\"", "\\", "'", "/", "//", "..", "%2e", "%2f", "%00", "%", "&", "=", ";", "?", "#", "+", " ", "\r\n",
            "\u{0}", ":", ",", "|", "||",
            "!", "$", "{", "}", "[", "]", "<", "]]>", "</text>", "\\u0000", "\\ud800", "\\\"", "username:bob", "from:",
            "topic:", "id=", "pns=",
            "to_tag=", "handle=", "charset=", "utf-16", "1-2-3", "é", "😀", "\u{FEFF}", "\"Tags\":[\"from:alice\"]",
            "\"tags\":[]",
            "HTTP/1.1\r\nX-Evil: 1\r\n\r\n",
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0x80]]

    private static func mutated(_ text: String?, _ random: inout SplitMix) -> [UInt8]? {
        guard var bytes = text.map({ Array($0.utf8) }) else {
            return Int.random(in: 0..<20, using: &random) == 0 ? pieces.randomElement(using: &random) : nil
        }
        // Most parts stay unchanged, so that the requests reach the later phases.
        guard Int.random(in: 0..<3, using: &random) == 0 else { return bytes }
        for _ in 0...Int.random(in: 0..<3, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes.insert(contentsOf: pieces.randomElement(using: &random)!, at: place)
            case 1: if place < bytes.count { bytes[place] = .random(in: 0...255, using: &random) }
            case 2: if place < bytes.count { bytes.remove(at: place) }
            case 3: bytes.removeLast(bytes.count - place)
            default: bytes.insert(contentsOf: bytes[..<place].suffix(Int.random(in: 0...20, using: &random)), at: place)
            }
        }
        return bytes
    }

    private static func request(_ number: UInt64, _ random: inout SplitMix) -> ReceivedRequest {
        let seed = seeds.randomElement(using: &random)!
        func field(_ text: String?) -> ReceivedRequest.FieldValue {
            mutated(text, &random).map { .single(ByteBuffer(bytes: $0)) } ?? .absent
        }
        var request = ReceivedRequest("GET /", as: "alice", number: number)
        request.method =
            Int.random(in: 0..<20, using: &random) == 0
            ? HTTPMethod.allCases.randomElement(using: &random) : seed.method
        request.path = ByteBuffer(bytes: mutated(seed.path, &random) ?? [])
        request.query = mutated(seed.query, &random).map { ByteBuffer(bytes: $0) }
        request.contentType = field(seed.contentType)
        request.contentEncoding = field(nil)
        request.body = ByteBuffer(bytes: mutated(seed.body, &random) ?? [])
        if Int.random(in: 0..<10, using: &random) == 0 {
            request.authorization = field("Basic YWxpY2U6YWxpY2UncyBzZWNyZXQ=")
        }
        return request
    }

    /// A gateway whose ledger answers updates with the decision that `update` holds.
    private static func gateway(_ profile: BackendProfile.BuiltIn, _ update: Update) -> TestGateway {
        TestGateway(
            profile, adjust: { $0.limiter = Limiter([], clocks: ManualClock().clocks) },
            deciding: { request in
                switch request {
                case .create(_, let handle): handle == nil ? .queryWithoutHandle : .queryWithHandle
                case .update: update.decision.withLock { $0 }
                case .delete: .owned(Sample.other)
                case .sweep: .notMarked
                }
            })
    }

    /// The ledger's decision on an update.
    private final class Update: Sendable {
        let decision = Mutex(LedgerDecision.notRegistered)
    }

    @Test(
        "No mutated request traps or reaches the backend in an unexpected form",
        arguments: BackendProfile.BuiltIn.allCases)
    func mutatedRequests(_ profile: BackendProfile.BuiltIn) async throws {
        var random = SplitMix(seed: 12)
        var carriedOut = 0
        let decisions: [LedgerDecision] = [.own(Sample.other), .notRegistered, .rotation(Sample.other)]
        // Creating a gateway takes a hundred times as long as serving a request. The requests of one gateway contain
        // too few wrong passwords for the throttle to reject any.
        let update = Update()
        var gateway = Self.gateway(profile, update)
        for number in 0..<UInt64(7000) {
            if number % 25 == 0 { gateway = Self.gateway(profile, update) }
            let next = decisions.randomElement(using: &random)!
            update.decision.withLock { $0 = next }
            let (intents, outcomes) = (gateway.journal.records(.intent).count, gateway.journal.records(.outcome).count)
            let exchanges = gateway.backend.requests.count
            let response = await gateway.serve(Self.request(number, &random))
            #expect((200...202).contains(response.status) || response.code != nil)
            #expect(gateway.backend.unreadable.isEmpty)
            #expect(gateway.ledger.openClaims == 0)
            #expect(gateway.journal.records(.intent).count == gateway.journal.records(.outcome).count)
            let requests = gateway.backend.requests.dropFirst(exchanges)
            #expect(requests.isEmpty == gateway.journal.records(.intent).dropFirst(intents).isEmpty)
            if requests.isEmpty { continue }
            carriedOut += 1
            let facts = try #require(gateway.journal.records(.outcome).dropFirst(outcomes).first?.facts)
            for request in requests { try check(request, facts, profile) }
        }
        // Enough requests reach the backend for the checks to be meaningful.
        #expect(carriedOut > 1000)
    }

    private func check(_ request: CapturedRequest, _ facts: CallFacts, _ profile: BackendProfile.BuiltIn) throws {
        let side = BackendProfile(profile).backend
        let allowed: Set<String> = [
            "Host", "Authorization", "Accept", "X-Request-Id", "traceparent", "Content-Type", "Content-Length",
        ]
        #expect(Set(request.fields.map(\.name)).isSubset(of: allowed))
        #expect(Set(request.fields.map(\.name)).count == request.fields.count)
        #expect(request.values("Host") == ["backend.test"])
        #expect(request.values("Authorization") == ["Basic YWxpY2U6YWxpY2U="])
        #expect(request.values("X-Request-Id") == [facts.call.text])
        let query = try #require(request.query)
        switch (request.method, facts.action) {
        case ("POST", .send):
            #expect(request.path == "/api/notifications")
            let pns = try #require(facts.pns)
            let recipient = try #require(facts.recipient)
            #expect(query.map(\.name) == ["pns", "to_tag"])
            #expect(query.map(\.value) == [side.pnsNames[pns]?.text ?? "?", recipient.text])
            try checkMessage(request.body, facts, pns)
        case ("POST", .registerCreate), ("POST", .registerUpdate):
            #expect(request.path == "/api/register" && request.body.isEmpty)
            #expect(query.count <= 1)
            if let parameter = query.first {
                #expect(parameter.name == "handle")
                #expect(try HandleRules().handleOfUnnamedService(parameter.value).text == parameter.value)
            }
        case ("PUT", .registerUpdate):
            #expect(request.target == target(try #require(facts.registration), profile))
            let body = try JSONParser().parse(request.body.span)
            guard case .object(let members) = body, case .array(let tags)? = body["Tags"] else {
                Issue.record("the body is not the registration's object")
                return
            }
            #expect(members.map(\.name) == ["Platform", "Handle", "Tags"])
            let service = try #require(facts.platform)
            #expect(body["Platform"]?.string == side.platformNames[service]?.text)
            let handle = try #require(body["Handle"]?.string)
            #expect(try HandleRules().handle(handle, of: service).text == handle)
            #expect(tags.allSatisfy { $0.string.flatMap(Tag.init)?.namespace == "topic" })
        case ("DELETE", .registerDelete):
            #expect(request.target == target(Sample.other, profile))
            #expect(request.body.isEmpty)
        default:
            Issue.record("unexpected method \(request.method) for \(String(describing: facts.action))")
        }
    }

    private func target(_ id: RegistrationID, _ profile: BackendProfile.BuiltIn) -> String {
        profile == .core ? "/api/register?id=\(id)" : "/api/register/\(id)"
    }

    /// Checks that the digest in the record is that of the text which a device reads.
    private func checkMessage(_ body: [UInt8], _ facts: CallFacts, _ service: PushService) throws {
        let pasted = try #require(try JSONParser().parse(body.span).string)
        for (frameService, before, after) in PastedPayload.frames where frameService == service {
            let payload = "\(before)From alice: \(pasted)\(after)"
            #expect(payload.utf8.count <= service.payloadLimit)
            guard let text = service == .wns ? DevicePayload.text(in: payload) : innermost(payload) else {
                Issue.record("the payload does not parse")
                return
            }
            let typed = Array(text.utf8.dropFirst("From alice: ".utf8.count))
            #expect(typed.count == facts.bytes)
            let digester = KeyedDigester(key: Secret(Array(repeating: 7, count: 32)))
            #expect(digester.digest(Array("alice".utf8), typed) == facts.digest)
        }
    }

    private func innermost(_ payload: String) -> String? {
        var value = try? JSONParser().parse(Array(payload.utf8).span)
        while case .object(let members)? = value {
            guard members.count == 1 else { return nil }
            value = members[0].value
        }
        return value?.string
    }
}
