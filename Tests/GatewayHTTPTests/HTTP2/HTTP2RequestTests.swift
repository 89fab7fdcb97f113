import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOHPACK
import Testing

@testable import GatewayHTTP

/// Tests of the conversion of HTTP/2 fields to a request: the rules of HTTP/1.1 and of RFC 9113.
@Suite struct HTTP2RequestTests {
    private static let good = HTTP2Fixture.post("/api/notifications?pns=apns")

    private func code(_ fields: [(String, String)]) -> RejectionCode? {
        do throws(FramingError) {
            _ = try HTTP2RequestReader(HPACKHeaders(fields), limits: .init())
            return nil
        } catch {
            return error.code
        }
    }

    private static func with(_ more: (String, String)...) -> [(String, String)] { good + more }

    private static func changed(_ name: String, to value: String?) -> [(String, String)] {
        good.compactMap { field in
            if field.0 != name { return field }
            return value.map { (name, $0) }
        }
    }

    @Test("The converted request equals the one that was sent")
    func theConvertedRequestEqualsTheOneThatWasSent() throws {
        let reader = try HTTP2RequestReader(
            HPACKHeaders(
                Self.with(
                    ("authorization", "Basic YTpi"), ("content-type", "application/json"), ("content-length", "4"),
                    ("idempotency-key", "k"), ("x-anything", "é"))), limits: .init())
        let request = FramedRequest(head: reader.head, headBytes: reader.bytes, body: ByteBuffer())
            .received(
                id: CallID(process: 0, number: 0), peer: Peer(address: .local, text: "unix"), allowsCredentials: true
            )
        #expect(request.method == .post)
        #expect(String(buffer: request.path) == "/api/notifications")
        #expect(request.query.map { String(buffer: $0) } == "pns=apns")
        #expect(request.authorization == .single(ByteBuffer(string: "Basic YTpi")))
        #expect(request.contentType == .single(ByteBuffer(string: "application/json")))
        #expect(request.contentEncoding == .absent)
        #expect(request.idempotencyKey == .single(ByteBuffer(string: "k")))
        #expect(reader.head.contentLength == 4)
    }

    private static func before(_ more: (String, String)...) -> [(String, String)] { more + good }

    static let taken: [[(String, String)]] = [
        good, with(("host", "gateway.test")), with(("host", "GATEWAY.test")), with(("te", "trailers")),
        changed(":scheme", to: "https"), changed(":method", to: "BREW"), with(("cookie", "a"), ("cookie", "b")),
        with(("x", "")),
    ]

    @Test("A valid request is accepted", arguments: taken)
    func isTaken(_ fields: [(String, String)]) { #expect(code(fields) == nil) }

    @Test("Host is accepted in place of the authority") func hostIsAcceptedInPlaceOfTheAuthority() {
        var fields = Self.changed(":authority", to: nil)
        fields.append(("host", "a"))
        #expect(code(fields) == nil)
    }

    static let pseudo: [[(String, String)]] = [
        changed(":method", to: nil), changed(":scheme", to: nil), changed(":path", to: nil),
        changed(":authority", to: nil), changed(":authority", to: ""), changed(":authority", to: "a b"),
        changed(":authority", to: "user@a"), changed(":path", to: ""), changed(":path", to: "*"),
        changed(":path", to: "http://gateway.test/"), changed(":path", to: "/a b"), changed(":path", to: "/a#b"),
        changed(":path", to: "/\u{7F}"), changed(":path", to: "/é"), changed(":path", to: "/\0"),
        changed(":method", to: ""), changed(":method", to: "CONNECT"), changed(":method", to: "GE T"),
        changed(":scheme", to: "ftp"), before((":method", "GET")), with((":path", "/")), before(("x", "y")),
        with((":protocol", "websocket")), with((":status", "200")), before((":protocol", "websocket")),
    ]

    static let regular: [[(String, String)]] = [
        with(("host", "other.test")), with(("host", "gateway.test"), ("host", "gateway.test")), with(("host", "a b")),
        with(("connection", "close")), with(("connection", "x-y")), with(("keep-alive", "timeout=5")),
        with(("proxy-connection", "close")), with(("upgrade", "h2c")), with(("transfer-encoding", "chunked")),
        with(("te", "gzip")), with(("content-length", "1"), ("content-length", "1")), with(("content-length", "+1")),
        with(("content-length", "")), with(("content-length", "1, 1")), with(("Content-Length", "1")),
        with(("content_length", "1")), with(("transfer_encoding", "chunked")), with(("x-y ", "1")), with(("", "1")),
        with(("x:y", "1")), with(("x", " 1")), with(("x", "1 ")), with(("x", "1\r\n")), with(("x", "a\0b")),
        with(("x", "a\nb")), with(("authorization", "é")), with(("author-ization", "Basic x")), with(("h-ost", "a")),
    ]

    @Test("Invalid pseudo-header fields are rejected", arguments: pseudo)
    func isMalformed(_ fields: [(String, String)]) {
        #expect(code(fields) == .malformedRequest)
    }

    @Test("Invalid fields are rejected", arguments: regular) func isMalformedToo(_ fields: [(String, String)]) {
        #expect(code(fields) == .malformedRequest)
    }

    @Test("Trailers have the same field rules and no pseudo-header fields")
    func trailers() {
        func isTaken(_ fields: [(String, String)]) -> Bool {
            (try? HTTP2RequestReader.check(trailers: HPACKHeaders(fields))) != nil
        }
        #expect(isTaken([]))
        #expect(isTaken([("x-checksum", "é"), ("host", "a"), ("te", "trailers")]))
        let malformed = [
            (":path", "/"), ("X", "y"), ("", "y"), ("x", " y"), ("x", "a\0b"), ("connection", "close"), ("te", "gzip"),
            ("content_length", "1"),
        ]
        for field in malformed { #expect(!isTaken([("x", "y"), field]), "\(field)") }
    }

    @Test("A field section that is no HTTP message resets its stream with PROTOCOL_ERROR, and other streams go on")
    func malformedSectionsResetTheirStream() throws {
        let malformed: [[(String, String)]] = [
            HTTP2Fixture.get("/") + [("X-Upper", "y")], HTTP2Fixture.get("/") + [("x", "a\0b")],
            HTTP2Fixture.get("/") + [(":path", "/")], HTTP2Fixture.get("/") + [(":extra", "/")],
            HTTP2Fixture.get("/") + [("connection", "close")], HTTP2Fixture.get("/") + [("te", "gzip")],
            [(":method", "GET"), (":scheme", "http")],
        ]
        let connection = try EmbeddedHTTP2Connection()
        try connection.begin()
        var stream: UInt32 = 1
        for fields in malformed {
            try connection.send(.headers(stream, fields))
            #expect(try connection.written() == ["reset \(stream) by 1"], "\(fields)")
            stream += 2
        }
        try connection.send(.headers(stream, HTTP2Fixture.get("/")))
        #expect(try connection.written().first == "200 on \(stream)")
    }

    @Test("The limits equal those of HTTP/1.1") func theLimitsEqualThoseOfHTTP11() {
        #expect(code(Self.with(("expect", "200-ok"))) == .expectationFailed)
        #expect(code(Self.with(("content-length", "16385"))) == .payloadTooLarge)
        #expect(code(Self.with(("content-length", "16384"))) == nil)
        #expect(code(Self.good + (0..<100).map { ("x\($0)", "") }) == nil)
        #expect(code(Self.good + (0..<101).map { ("x\($0)", "") }) == .headersTooLarge)
        #expect(code(Self.with(("x", String(repeating: "y", count: 16_384 - 5)))) == nil)
        #expect(code(Self.with(("x", String(repeating: "y", count: 16_384 - 4)))) == .headersTooLarge)
        func path(_ length: Int) -> [(String, String)] {
            Self.changed(":path", to: "/" + String(repeating: "p", count: length - 1))
        }
        // The line also contains POST, two spaces and HTTP/1.1.
        #expect(code(path(8192 - 14)) == nil)
        #expect(code(path(8192 - 13)) == .uriTooLong)
    }

    @Test("Mutated field lists never trap") func mutatedFieldListsNeverTrap() {
        var random = SplitMix(seed: 42)
        let bytes: [UInt8] = [0, 9, 10, 13, 32, 35, 58, 63, 65, 97, 127, 128, 255]
        for _ in 0..<5000 {
            var fields = Self.with(("content-length", "4"), ("authorization", "Basic YTpi"))
            let index = Int.random(in: 0..<fields.count, using: &random)
            var text = Array((Bool.random(using: &random) ? fields[index].0 : fields[index].1).utf8)
            let isName = text == Array(fields[index].0.utf8)
            text.insert(
                bytes[Int.random(in: 0..<bytes.count, using: &random)],
                at: Int.random(in: 0...text.count, using: &random))
            let changed = String(decoding: text, as: UTF8.self)
            if isName { fields[index].0 = changed } else { fields[index].1 = changed }
            // An accepted request has a path that begins with a slash and contains no control character.
            if let reader = try? HTTP2RequestReader(HPACKHeaders(fields), limits: .init()) {
                let path = reader.bytes.getBytes(at: reader.head.path.lowerBound, length: reader.head.path.count) ?? []
                #expect(path.first == UInt8(ascii: "/") && path.allSatisfy { (0x21...0x7E).contains($0) })
            }
        }
    }
}
