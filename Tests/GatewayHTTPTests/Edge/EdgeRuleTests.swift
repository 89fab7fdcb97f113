import Foundation
import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// The syntax rules for requests, tested with raw bytes on a socket. Each test checks the response and that the
/// backend receives no request.
@Suite(.timeLimit(.minutes(2)))
struct EdgeRuleTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var status: Int
        var code: String

        init(_ name: String, _ text: String, _ status: Int, _ code: String) {
            self.init(name, bytes: Array(text.utf8), status, code)
        }

        init(_ name: String, bytes: [UInt8], _ status: Int, _ code: String) {
            (self.name, self.bytes, self.status, self.code) = (name, bytes, status, code)
        }

        var testDescription: String { name }
    }

    private static func request(_ line: String, _ fields: String = "", host: String = "gateway.test") -> String {
        "\(line) HTTP/1.1\r\nHost: \(host)\r\n\(EdgeFixture.token)Connection: close\r\n\(fields)"
    }

    private static func send(_ target: String) -> String {
        request("POST \(target)", "Content-Type: application/json\r\n" + EdgeFixture.message)
    }

    private static func put(_ body: String, id: String = "1-2-3") -> [UInt8] { put(Array(body.utf8), id: id) }

    private static func put(_ body: [UInt8], id: String = "1-2-3") -> [UInt8] {
        let head = "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
        return Array(request("PUT /api/register/\(id)", head).utf8) + body
    }

    /// The routes match byte for byte, and targets have a single form.
    static let routes: [Case] = malformed + unknown + others + queries

    private static let malformed: [Case] =
        [
            "/api/notifications%2f", "/api%2fnotifications", "/api%2Fnotifications", "/api%5cnotifications",
            "/api/notifications%00", "/api/notifications%25", "/api/notifications%23", "/api/notifications%3b",
            "/api/notifications;a=b", "/api//notifications", "//api/notifications", "/api/./notifications",
            "/api/../api/notifications", "/api/notifications/..", "/api/notifications/.", "/api/%2e%2e/notifications",
            "/api\\notifications", "/api/%2e/notifications",
        ].map { Case("path \($0)", send("\($0)?pns=apns&to_tag=bob"), 400, "malformed-request") }

    private static let unknown: [Case] =
        [
            "/API/notifications", "/api/Notifications", "/api/notifications/", "/api/notification",
            "/api/notificationsx", "/api", "/", "/api/notifications/x/y", "/x/api/notifications",
            "/api/notification%73", "/api/register/1-2-3/x", "/auth", "/health/live", "/metrics", "/*",
        ].map { Case("path \($0)", send("\($0)?pns=apns&to_tag=bob"), 404, "no-route") }

    private static let others: [Case] =
        [
            Case(
                "another method", request("GET /api/notifications?pns=apns&to_tag=bob", "\r\n"), 405,
                "method-not-allowed"),
            Case("HEAD", request("HEAD /api/notifications", "\r\n"), 405, ""),
            Case("a method of nobody's", request("BREW /api/notifications", "\r\n"), 405, "method-not-allowed"),
            Case("a method in small letters", request("post /api/notifications", "\r\n"), 405, "method-not-allowed"),
            Case(
                "absolute-form of another host", send("http://other.test/api/notifications?pns=apns&to_tag=bob"), 400,
                "malformed-request"),
            Case(
                "absolute-form with a port of its own",
                send("http://gateway.test:1/api/notifications?pns=apns&to_tag=bob"), 400, "malformed-request"),
            Case("asterisk-form", request("OPTIONS *", "\r\n"), 400, "malformed-request"),
            Case("authority-form", request("CONNECT gateway.test:443", "\r\n"), 400, "malformed-request"),
        ]

    private static let queries: [Case] =
        [
            "?pns=apns&to_tag=bob;x=1", "?pns=apns;to_tag=bob", "?pns=apns&to_tag=bob&to_tag=bob",
            "?pns=apns&to_tag=bob&TO_TAG=bob", "?pns=apns&to_tag=%ff", "?pns=apns&to_tag=bob&x=1",
            "?pns=apns&to_tag=bob%2", "?pns=apns&to_tag=bob%zz", "?pns=apns&to_tag=bob%00", "?pns=apns&to_tag=bob?",
            "?pns=apns&to_tag=bob+carol", "?pns=apns&to_tag=bo%2562", "?pns=apns&to_tag=", "?pns=apns", "?to_tag=bob",
            "",
            "?pns=apns&&to_tag=bob", "?pns=apns&to_tag",
        ].map { Case("query \($0)", send("/api/notifications\($0)"), 400, "malformed-request") }

    /// The JSON parser is strict, and each value has a single form.
    static let bodies: [Case] = texts + encodings

    private static let deep = String(repeating: "[", count: 100)
    private static let nested = "{\"Platform\":[[[[[[[[[]]]]]]]]]}"
    private static let wide = "{\((0..<65).map { "\"m\($0)\":1" }.joined(separator: ","))}"

    private static let texts: [Case] =
        [
            #"{"Platform":"apns","Handle":"AB","Handle":"CD","Tags":[]}"#,
            #"{"Platform":"apns","Handle":"AB","handle":"CD","Tags":[]}"#,
            #"{"Platform":"apns","PLATFORM":"gcm","Handle":"AB"}"#, #"{"Platform":"apns","Pl\u0061tform":"gcm"}"#,
            #"{'Platform':'apns'}"#, "{Platform:1}", #"{"Platform":"apns",}"#, #"{"Platform":"apns"}x"#, "{", "", "[]",
            "null", #"{"Platform":"apns" /* */}"#, #"{"Platform":01}"#, #"{"Platform":"\ud800"}"#,
            "<x/>", "Platform=apns", deep, nested, wide,
        ].map { Case("body \($0.prefix(60))", bytes: put($0), 400, "malformed-request") }

    private static let encodings: [Case] =
        [
            Case(
                "a body that is not UTF-8", bytes: put([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D]), 400,
                "malformed-request"),
            Case("a body in UTF-16", bytes: put([0xFF, 0xFE, 0x7B, 0x00, 0x7D, 0x00]), 400, "malformed-request"),
        ]

    @Test("The gateway rejects an invalid request and the backend receives nothing", arguments: routes + bodies)
    func theGatewayRejectsAnInvalidRequestAndTheBackendReceivesNothing(_ example: Case) async throws {
        try await EdgeFixture.run { bench in
            let answers = try await bench.exchange(example.bytes)
            #expect(answers.statuses == [example.status])
            if !example.code.isEmpty { #expect(answers.problem == example.code) }
            if example.status == 405 { #expect(answers.field("Allow") == "POST") }
            #expect(bench.gateway.backend.requests == [])
        }
    }

    @Test("The gateway forwards a valid request") func theGatewayForwardsAValidRequest() async throws {
        try await EdgeFixture.run { bench in
            for target in [
                "/api/notifications?pns=apns&to_tag=bob", "http://GATEWAY.test/api/notifications?PNS=apns&To_Tag=b%6fb",
            ] {
                let answers = try await bench.exchange(Self.send(target))
                #expect(answers.statuses == [200])
            }
            #expect(
                bench.gateway.backend.requests.map(\.target)
                    == Array(repeating: "/api/notifications?pns=apns&to_tag=bob", count: 2))
        }
    }

    /// The connection gets one response and closes. No byte after the fault is interpreted.
    @Test(
        "A framing fault closes the connection",
        arguments: FramingErrorTests.requestLines + FramingErrorTests.fields + FramingErrorTests.chunks
            + FramingErrorTests.limits)
    func aFramingFaultClosesTheConnection(_ fault: FramingErrorTests.Case) async throws {
        let status = [
            RejectionCode.malformedRequest: 400, .uriTooLong: 414, .headersTooLarge: 431, .payloadTooLarge: 413,
            .expectationFailed: 417,
        ][fault.code, default: 0]
        try await EdgeFixture.run { bench in
            let smuggled = "\r\n\r\n" + EdgeFixture.send()
            let answers = try await bench.exchange(fault.bytes + smuggled)
            #expect(answers.statuses == [status])
            #expect(answers.problem == fault.code.rawValue)
            #expect(answers.field("Connection") == "close")
            // After a valid request, which gets its response first.
            let keep = EdgeFixture.send().replacing("Connection: close\r\n", with: "")
            let behind = try await bench.exchange(keep + fault.bytes + smuggled)
            #expect(behind.statuses == [200, status])
            #expect(bench.gateway.backend.requests.count == 1)
        }
    }

    /// Forwarding fields of an untrusted peer change neither the client address nor the scheme.
    @Test(
        "Forwarding fields of an untrusted peer have no effect",
        arguments: [
            "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n", "X-Forwarded-Proto: https\r\n",
            "Forwarded: for=192.0.2.1;proto=https\r\n", "X-Real-IP: 192.0.2.1\r\n", "X-Forwarded-Host: evil\r\n",
            "X-Forwarded-Ssl: on\r\nFront-End-Https: on\r\n", "X-Forwarded-Scheme: https\r\n",
            "X-Forwarded-Port: 443\r\n",
            "CF-Connecting-IP: 192.0.2.1\r\n", "True-Client-IP: 192.0.2.1\r\n", "Via: 1.1 evil\r\n",
            "X-Original-URL: /health/live\r\n", "X-Rewrite-URL: /health/live\r\n", "X-HTTP-Method-Override: DELETE\r\n",
        ])
    func forwardingFieldsOfAnUntrustedPeerHaveNoEffect(_ fields: String) async throws {
        for listed in [[], ["192.0.2.0/24", "127.0.0.2", "unix"]] {
            let configure: (inout ListenerConfiguration) -> Void = {
                $0.address = .tcp(host: "0.0.0.0", port: 0)
                $0.trustedProxies = TrustedProxies(proxies: listed.compactMap(AddressRange.init))
            }
            try await EdgeFixture.run(configure: configure) { bench in
                let address = try SocketAddress(ipAddress: "127.0.0.1", port: bench.listener.port ?? 0)
                let answers = try await bench.exchange(Array(EdgeFixture.send(fields).utf8), to: address)
                #expect(answers.statuses == [403])
                #expect(answers.problem == "insecure-transport")
                #expect(bench.gateway.backend.requests == [])
            }
        }
        try await EdgeFixture.run { bench in
            let answers = try await bench.exchange(EdgeFixture.send(fields))
            #expect(answers.statuses == [200])
            #expect(bench.gateway.journal.records.allSatisfy { !"\($0)".contains("192.0.2") })
        }
    }

    /// The scheme and the client address from a trusted proxy apply, and the journal records that address.
    @Test("The gateway trusts a listed proxy") func theGatewayTrustsAListedProxy() async throws {
        let configure: (inout ListenerConfiguration) -> Void = {
            $0.address = .tcp(host: "0.0.0.0", port: 0)
            $0.trustedProxies = TrustedProxies(proxies: ["127.0.0.1"].compactMap(AddressRange.init))
        }
        try await EdgeFixture.run(configure: configure) { bench in
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: bench.listener.port ?? 0)
            for (fields, status) in [
                ("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n", 200),
                ("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\n", 403),
                ("X-Forwarded-For: 192.0.2.7\r\n", 403),
            ] {
                let answers = try await bench.exchange(Array(EdgeFixture.send(fields).utf8), to: address)
                #expect(answers.statuses == [status])
            }
            #expect(bench.gateway.backend.requests.count == 1)
            #expect(bench.gateway.journal.records.contains { "\($0)".contains("192.0.2.7") })
        }
    }

    /// A 401 response has a challenge for each scheme. No response contains internal text or may be stored.
    @Test(
        "Rejected credentials get a challenge",
        arguments: [
            ("", "credentials-missing"), ("Authorization: Basic YTpi\r\n", "credentials-rejected"),
            ("Authorization: Bearer x\r\n", "credentials-rejected"),
            ("Authorization: Negotiate x\r\n", "credentials-rejected"),
            ("Authorization:\r\n", "credentials-rejected"), ("Authorization: Basic !!!\r\n", "credentials-rejected"),
        ])
    func rejectedCredentialsGetAChallenge(_ field: String, _ code: String) async throws {
        try await EdgeFixture.run { bench in
            let text = EdgeFixture.send().replacing(EdgeFixture.token, with: field)
            let answers = try await bench.exchange(text)
            #expect(answers.statuses == [401])
            #expect(answers.problem == code || answers.problem == "credentials-missing")
            #expect(answers.text.contains("\r\nWWW-Authenticate: Basic realm=\"notify\", charset=\"UTF-8\"\r\n"))
            #expect(answers.text.contains("\r\nWWW-Authenticate: Bearer\r\n"))
            #expect(answers.field("Content-Type") == "application/problem+json")
            #expect(answers.field("Cache-Control") == "no-store")
            let body = try #require(answers.text.components(separatedBy: "\r\n\r\n").last)
            let members = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
            #expect(Set(members.keys).isSubset(of: ["type", "title", "status", "detail"]))
            #expect(bench.gateway.backend.requests == [])
        }
    }

    @Test("Pipelined requests get their responses in order")
    func pipelinedRequestsGetTheirResponsesInOrder() async throws {
        try await EdgeFixture.run { bench in
            let keep = EdgeFixture.send().replacing("Connection: close\r\n", with: "")
            let missing = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"
            let text = keep + missing + keep + missing + missing + EdgeFixture.send()
            let answers = try await bench.exchange(text)
            #expect(answers.statuses == [200, 404, 200, 404, 404, 200])
            #expect(bench.gateway.backend.requests.count == 3)
        }
    }

    @Test("A client that expects 100-continue gets it once")
    func aClientThatExpects100ContinueGetsItOnce() async throws {
        try await EdgeFixture.run { bench in
            let text = EdgeFixture.send("Expect: 100-continue\r\n")
            let client = try await RawConnection.connect(to: bench.listener.localAddress, group: EdgeFixture.group)
            try await client.send(text.replacing("\"hi\"", with: ""))
            #expect(await client.receive(endingWith: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            try await client.send("\"hi\"")
            #expect(await client.receiveToEnd().hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }
}
