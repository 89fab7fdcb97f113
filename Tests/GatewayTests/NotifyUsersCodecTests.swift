import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

@Suite struct NotifyUsersCodecTests {
    private let call = CallID(process: 0xFEED, number: 1)
    private let alice = UserName(canonical: "alice")!
    private static let trace = "0123456789abcdef0123456789abcdef"

    private func text(
        _ step: UpstreamStep, _ profile: BackendProfile.BuiltIn = .classic, reserved: RegistrationID? = nil,
        credential: UpstreamCredential = .mirror, tracestate: TraceState? = nil
    ) -> String? {
        let codec = NotifyUsersCodec(
            backend: BackendProfile(profile).backend, host: "backend.test:5000", credential: credential)
        let trace = TraceContext(traceparent: "00-\(Self.trace)-00000000000000aa-01".utf8, state: tracestate)
        return codec.request(
            for: step, caller: alice, reserved: reserved?.text,
            RequestOrigin(call: call, trace: trace, span: 0xAB)
        ).map { String(buffer: $0) }
    }

    private func head(_ line: String) -> String {
        "\(line) HTTP/1.1\r\nHost: backend.test:5000\r\nAuthorization: Basic YWxpY2U6YWxpY2U=\r\n"
            + "Accept: application/json\r\nX-Request-Id: 000000000000feed0000000000000001\r\n"
            + "traceparent: 00-\(Self.trace)-00000000000000ab-01\r\n"
    }

    private func registration(_ handle: DeviceHandle, tags: [String] = []) -> UpstreamRegistration {
        UpstreamRegistration(owner: alice, handle: handle, tags: tags.compactMap(Tag.init))
    }

    @Test("A text is encoded as a JSON string, however many escapes it needs", arguments: [0, 1, 63, 64, 65, 4096])
    func escapes(count: Int) {
        let send = UpstreamSend(
            sender: alice, recipient: alice, service: .apns, content: Array(repeating: UInt8(ascii: "\""), count: count)
        )
        let body = "\"" + String(repeating: "\\\"", count: count) + "\""
        #expect(text(.send(send))?.hasSuffix("Content-Length: \(2 * count + 2)\r\n\r\n\(body)") == true)
    }

    @Test("A reservation is encoded with its handle, or without one") func reserve() {
        #expect(text(.reserve(handle: nil)) == head("POST /api/register") + "Content-Length: 0\r\n\r\n")
        #expect(
            text(.reserve(handle: Sample.handle()))
                == head("POST /api/register?handle=\(Sample.apns)") + "Content-Length: 0\r\n\r\n")
        #expect(
            text(.reserve(handle: Sample.handle(Sample.wns, .wns)))?.hasPrefix(
                "POST /api/register?handle=https%3a%2f%2fdb5.notify.windows.com%2f%3ftoken%3dAwYAAAB%252b8dz%252f%26x%3d1 HTTP/1.1\r\n"
            )
                == true)
    }

    @Test(
        "An upsert and a delete are encoded as the profile requires",
        arguments: [
            (BackendProfile.BuiltIn.classic, "/api/register/11-22-3", "gcm"),
            (.core, "/api/register?id=11-22-3", "fcm"),
            (.net6, "/api/register/11-22-3", "fcmv1"),
        ])
    func anUpsertAndADeleteAreEncodedAsTheProfileRequires(
        _ profile: BackendProfile.BuiltIn, _ target: String, _ word: String
    ) {
        let body = "{\"Platform\":\"\(word)\",\"Handle\":\"\(Sample.fcm)\",\"Tags\":[\"a\",\"topic:b\"]}"
        let expected =
            head("PUT \(target)")
            + "Content-Type: application/json; charset=utf-8\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body
        let wanted = registration(Sample.handle(Sample.fcm, .fcm), tags: ["a", "topic:b"])
        #expect(text(.upsert(.known(Sample.other), wanted), profile) == expected)
        #expect(text(.upsert(.reserved, wanted), profile, reserved: Sample.other) == expected)
        #expect(text(.upsert(.reserved, wanted), profile) == nil)
        #expect(text(.delete(Sample.other, owner: alice), profile) == head("DELETE \(target)") + "\r\n")
    }

    @Test(
        "A send is encoded with the platform word of the profile",
        arguments: [(BackendProfile.BuiltIn.classic, "gcm"), (.core, "fcm"), (.net6, "fcmv1")])
    func send(_ profile: BackendProfile.BuiltIn, _ word: String) {
        let send = UpstreamSend(
            sender: alice, recipient: UserName(canonical: "b_o.b-1@x")!, service: .fcm,
            content: Array("say \\\"hi\\\" é".utf8))
        let body = "\"say \\\\\\\"hi\\\\\\\" é\""
        #expect(
            text(.send(send), profile)
                == head("POST /api/notifications?pns=\(word)&to_tag=b_o.b-1%40x")
                + "Content-Type: application/json; charset=utf-8\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
    }

    @Test("A service that the backend does not support has no request")
    func aServiceThatTheBackendDoesNotSupportHasNoRequest() {
        let handle = Sample.handle("http://sn1.notify.live.net/x", .mpns)
        #expect(text(.upsert(.known(Sample.other), registration(handle)), .net6) == nil)
        #expect(
            text(.send(UpstreamSend(sender: alice, recipient: alice, service: .mpns, content: []))) == nil)
    }

    @Test("Other credential modes replace the mirrored password") func otherCredentials() throws {
        let step = UpstreamStep.delete(Sample.other, owner: alice)
        let shared = try #require(text(step, credential: .sharedPassword(Secret("s3cret".utf8))))
        #expect(shared.contains("\r\nAuthorization: Basic YWxpY2U6czNjcmV0\r\n"))
        let header = try #require(
            text(step, credential: .header(userField: "X-User", secretField: "X-Secret", secret: Secret("s3cret".utf8)))
        )
        #expect(header.contains("\r\nX-User: alice\r\nX-Secret: s3cret\r\n"))
        #expect(!header.contains("Authorization"))
    }

    @Test("The tracestate of the client is forwarded") func theTracestateOfTheClientIsForwarded() throws {
        let state = try #require(TraceState("rojo=1".utf8))
        let step = UpstreamStep.delete(Sample.other, owner: alice)
        #expect(text(step, tracestate: state) == head("DELETE /api/register/11-22-3") + "tracestate: rojo=1\r\n\r\n")
    }

    @Test("Sends and reservations must not be repeated, deletions and upserts may be") func whichStepsMayBeRepeated() {
        let send = UpstreamSend(sender: alice, recipient: alice, service: .apns, content: [])
        #expect(!UpstreamStep.send(send).isRetryable)
        #expect(!UpstreamStep.reserve(handle: nil).isRetryable)
        #expect(UpstreamStep.delete(Sample.other, owner: alice).isRetryable)
        #expect(UpstreamStep.upsert(.reserved, registration(Sample.handle())).isRetryable)
    }
}

@Suite struct ReservedIDParserTests {
    @Test(
        "A reserved id is read from text, JSON and XML",
        arguments: [
            "11-22-3", "\"11-22-3\"", " \r\n\"11-22-3\"\n", "\u{FEFF}\"11-22-3\"", "\" 11-22-3 \"",
            "<string xmlns=\"http://schemas.microsoft.com/2003/10/Serialization/\">11-22-3</string>",
            "<?xml version=\"1.0\"?>\n<string>\n 11-22-3\n</string>\n",
        ])
    func reads(_ body: String) {
        #expect(ReservedIDParser.read(ByteBuffer(string: body)) == Sample.other)
    }

    @Test(
        "A body that is not exactly one id is rejected",
        arguments: [
            "", " ", "\"", "\"\"", "null", "{}", "{\"id\":\"11-22-3\"}", "11-22", "..", "\"11-22-3", "11-22-3\"x",
            "<string/>", "</string>",
            "<</string>", "<string></string>", "<a>11-22-3</a>", "11-22-3 11-22-3", "\"\"11-22-3\"\"", "11-22-3\u{0}",
            "<html>11-22-3</html>",
        ])
    func refuses(_ body: String) {
        #expect(ReservedIDParser.read(ByteBuffer(string: body)) == nil)
    }

    @Test("A long body or a body that is not text is rejected") func aLongBodyOrABodyThatIsNotTextIsRejected() {
        #expect(ReservedIDParser.read(ByteBuffer(string: String(repeating: " ", count: 2000) + "11-22-3")) == nil)
        #expect(ReservedIDParser.read(ByteBuffer(bytes: [0xFF, 0x22, 0x31])) == nil)
    }

    @Test("Any bytes give a valid id or none") func anyBytesGiveAValidIDOrNone() {
        var random = SplitMix(seed: 11)
        let alphabet = Array("<>string/\"1-2 \n".utf8) + [0xEF, 0xBB, 0xBF, 0xFF]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...16, using: &random)).map { _ in alphabet.randomElement(using: &random)!
            }
            if let id = ReservedIDParser.read(ByteBuffer(bytes: bytes)) { #expect(RegistrationID(id.text) == id) }
        }
    }
}
