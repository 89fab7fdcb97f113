import Foundation
import GatewaySupport
import GatewayTesting
import Testing

/// A gateway process under hostile and valid calls. The tests read all that it writes: journal, log and metrics.
@Suite("Secrets and hostile text in journal, log and metrics")
struct LogInjectionTests {
    /// Texts that each stand for a kind of secret and occur nowhere else.
    private enum Canary {
        static let password = "c4nary:pass word"
        static let key = GatewayUnderTest.secret()
        static let message = "c4nary-message"
        static let handle = String(repeating: "C4A4", count: 16)
        static let idempotencyKey = "c4nary-idempotency-key"
        static let wrongPassword = "c4nary-wrong-password"
        static let wrongToken = "c4nary.wrong.token"
    }

    private static let users = """
        users:
          alice: { hash: "$5$canary$BqjJfTJ3oH6ra03/iTpJtW4w/zg6t1uqn4gwjYszty1" }

        """

    @Test("Journal, log and metrics contain no secret of a valid or an invalid call")
    func canaries() async throws {
        let written = try await Self.run { gateway in
            let client = gateway.client
            let issued = try await client.call("POST", "/auth/token", as: "alice", password: Canary.password)
            #expect(issued.status == 200)
            let answer = try JSONSerialization.jsonObject(with: Data(issued.body)) as? [String: Any]
            let token = try #require(answer?["access_token"] as? String)
            try await Self.useService(client, token)
            try await Self.misuseService(client, token)
            return [
                Canary.password, Canary.key, Canary.message, Canary.handle, Canary.handle.lowercased(),
                Canary.idempotencyKey, Canary.wrongPassword, Canary.wrongToken, token,
                // The signature of the token, and the credentials in their encoded form.
                String(token.split(separator: ".")[2]), Data("alice:\(Canary.password)".utf8).base64EncodedString(),
                String(decoding: Data(base64Encoded: Canary.key) ?? Data(), as: UTF8.self),
            ]
        }
        for secret in written.result {
            for (place, bytes) in written.places {
                #expect(bytes.firstRange(of: Array(secret.utf8)) == nil, "\(secret) is in \(place)")
            }
        }
        Self.expectWellFormed(written)
    }

    /// Sends valid calls. The backend rejects some of them with a response that repeats the request.
    private static func useService(_ client: RawClient, _ token: String) async throws {
        let registered = try await client.call("POST", "/api/register?handle=\(Canary.handle)", token: token)
        #expect(registered.status == 200)
        let put = try await client.call(
            "PUT", "/api/register/\(registered.text.dropFirst().dropLast())", token: token,
            body: #"{"Platform":"apns","Handle":"\#(Canary.handle)","Tags":[]}"#)
        #expect(put.status == 200)
        for (recipient, status) in [("bob", 200), ("fails", 502)] {
            let target = "/api/notifications?pns=apns&to_tag=\(recipient)"
            #expect(
                try await client.call("POST", target, token: token, body: "\"\(Canary.message)\"").status == status)
            let body = "\"\(Canary.message)\""
            let keyed = try await client.send(
                RawClient.request("POST", target, token: token).replacing(
                    "\r\n\r\n",
                    with: "\r\nIdempotency-Key: \(Canary.idempotencyKey)-\(recipient)\r\n"
                        + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"))
            #expect(keyed.status == status)
        }
    }

    /// Sends secrets in the wrong places of calls.
    private static func misuseService(_ client: RawClient, _ token: String) async throws {
        let whoami = "/auth/whoami"
        #expect(try await client.call("GET", whoami, as: "alice", password: Canary.wrongPassword).status == 401)
        #expect(try await client.call("GET", whoami, as: "alice", password: Canary.key).status == 401)
        for bad in [Canary.wrongToken, token + "x", Canary.key] {
            #expect(try await client.call("GET", whoami, token: bad).status == 401)
        }
        let message = Canary.message.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        for target in [
            "/api/register?handle=\(Canary.handle)%27", "/api/register?handle=%7BLENGTH=32,BYTES=\(Canary.handle)%7D",
            "/api/notifications?pns=apns&to_tag=\(message)!", "/api/notifications?pns=\(message)&to_tag=bob",
            "/api/\(message)", "/api/notifications?\(message)=1&pns=apns&to_tag=bob",
        ] {
            #expect((400..<500).contains(try await client.call("POST", target, token: token).status))
        }
        for body in [
            #"{"Platform":"apns","Handle":"\#(Canary.handle)!","Tags":[]}"#,
            #"{"Platform":"\#(Canary.message)","Handle":"\#(Canary.handle)","Tags":[]}"#,
            #"{"Platform":"apns","Handle":"\#(Canary.handle)","Tags":["\#(Canary.message)!"]}"#,
            Canary.message,
        ] {
            #expect(try await client.call("PUT", "/api/register/1-1-1", token: token, body: body).status >= 400)
        }
        #expect(
            try await client.call(
                "POST", "/api/notifications?pns=apns&to_tag=bob", token: token, body: "\(Canary.message)\"}{"
            ).status == 400)
    }

    @Test(
        "Control characters and invalid UTF-8 in any part of a call neither crash the gateway nor break a journal line",
        .enabled(if: !TestData.naughtyStrings.isEmpty, "the corpora are not installed"))
    func naughtyStrings() async throws {
        let written = try await Self.run { gateway in
            let client = gateway.client
            let issued = try await client.call("POST", "/auth/token", as: "alice", password: Canary.password)
            let answer = try JSONSerialization.jsonObject(with: Data(issued.body)) as? [String: Any]
            let token = try #require(answer?["access_token"] as? String)
            let step = TestRun.isFull ? 1 : 7
            for (number, text) in TestData.naughtyStrings.enumerated() where number % step == 0 {
                let bytes = Array(text.utf8) + Self.additions[number / step % Self.additions.count]
                for request in Self.requests(bytes, token) {
                    let status = try await client.send(request).status
                    #expect(status != 500 && status < 504, "string \(number)")
                }
            }
            #expect(try await client.call("GET", "/auth/whoami", token: token).status == 200)
        }
        Self.expectWellFormed(written)
    }

    private static let additions: [[UInt8]] = [
        [0x0D, 0x0A], [0x00], [0x1B, 0x5B, 0x32, 0x4A], [0xFF, 0xC0, 0xAF, 0xED, 0xA0, 0x80],
        Array("\r\n{\"seq\":1,\"kind\":\"intent\"}\n\u{0}\u{1B}]0;x\u{7}\u{85}\u{2028}".utf8),
    ]

    /// Returns requests that contain the bytes in each place that the gateway may write to journal or log.
    private static func requests(_ bytes: [UInt8], _ token: String) -> [[UInt8]] {
        let encoded = bytes.map { byte in "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        let visible = bytes.filter { $0 > 0x20 && $0 != 0x7F }
        let text = String(decoding: bytes, as: UTF8.self)
        let json = (try? JSONEncoder().encode(text)).map { Array($0) } ?? []
        func request(_ line: String, raw: [UInt8] = [], body: [UInt8]? = nil) -> [UInt8] {
            var head = Array("\(line) HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer \(token)\r\n".utf8)
            head += raw
            if let body { head += Array("Content-Type: application/json\r\nContent-Length: \(body.count)\r\n".utf8) }
            return head + [13, 10] + (body ?? [])
        }
        let send = "POST /api/notifications?pns=apns&to_tag=bob"
        return [
            request("POST /api/notifications?pns=apns&to_tag=\(encoded)", body: Array("\"x\"".utf8)),
            request("POST /api/notifications?pns=\(encoded)&to_tag=bob", body: Array("\"x\"".utf8)),
            request("POST /api/register?handle=\(encoded)"),
            request("DELETE /api/register/\(encoded)"),
            request("POST /auth/token", body: Array("{\"device\":".utf8) + json + [UInt8(ascii: "}")]),
            request(send, raw: Array("Idempotency-Key: ".utf8) + visible + [13, 10], body: Array("\"x\"".utf8)),
            request(send, raw: Array("User-Agent: ".utf8) + visible + [13, 10], body: json),
            request(send, body: bytes),
            request(
                "PUT /api/register/1-1-1",
                body: Array("{\"Platform\":\"apns\",\"Handle\":".utf8) + json + Array(",\"Tags\":[".utf8) + json
                    + Array("]}".utf8)),
            Array(
                ("GET /auth/whoami HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Basic "
                    + Data(bytes + Array(":x".utf8)).base64EncodedString() + "\r\n\r\n").utf8),
        ]
    }

    private struct Written<Result: Sendable>: Sendable {
        let result: Result
        let places: [(name: String, bytes: [UInt8])]
    }

    private static func run<Result: Sendable>(
        _ body: (ServedProgram) async throws -> Result
    ) async throws -> Written<Result> {
        try await ScriptedServer.run { request in
            if request.line.hasPrefix("POST /api/register") { return [.write(ScriptedServer.ok("\"7260-42-1\""))] }
            guard request.line.contains("to_tag=fails") else { return [.write(ScriptedServer.ok(""))] }
            // The response repeats the request.
            let text = String(decoding: request.bytes, as: UTF8.self)
            return [.write(ScriptedServer.response("500 Oops", body: text))]
        } _: { backend in
            let directory = try TestFiles()
            try directory.write(users, to: "users.yaml")
            try directory.write("keys: [{ id: k1, algorithm: HS256, secret: \"\(Canary.key)\" }]\n", to: "keys.yaml")
            try directory.write(configuration(backend.port), to: "gateway.yaml")
            var log: ServedProgram.Log?
            var metrics = ""
            let (result, status) = try await ServedProgram.run(in: directory) { gateway in
                log = gateway.log
                let result = try await body(gateway)
                let admin = try RawClient(port: try #require(gateway.adminPort))
                let answer = try await admin.call("GET", "/metrics")
                #expect(answer.status == 200 && answer.text.contains("# TYPE "))
                metrics = answer.text
                return result
            }
            #expect(status == 0)
            var places = [("metrics", Array(metrics.utf8)), ("log", Array(try #require(log).text.utf8))]
            for name in try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/journal") {
                let data = try Data(contentsOf: URL(filePath: "\(directory.path)/journal/\(name)"))
                places.append((name, Array(data)))
            }
            return Written(result: result, places: places)
        }
    }

    private static func ok(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static func configuration(_ port: Int) -> String {
        """
        listen: [{ address: "127.0.0.1:0" }]
        admin: { address: "127.0.0.1:0" }
        backend: { url: "http://127.0.0.1:\(port)" }
        authenticators:
          - static-users: { file: users.yaml }
          - hmac-token: { keys: keys.yaml, issuer: notify-gateway, audience: notify, lifetime: 1h }
        policy: { send: [{ from: "*", to: "*" }], tags: [{ user: "*", allow: ["*"] }] }
        limits: [{ name: calls, per: user, rate: 10000/s }]
        journal: { directory: journal, minimum-free: 0 }
        ledger: { file: ledger.sqlite }
        log: { level: trace, format: json }
        """
    }

    /// Expects that each line of journal and log is JSON, without control characters that a terminal interprets.
    private static func expectWellFormed(_ written: Written<some Sendable>) {
        for (place, bytes) in written.places where place == "log" || place.hasSuffix(".jsonl") {
            #expect(!bytes.contains { ($0 < 0x20 && $0 != 0x0A) || $0 == 0x7F }, "\(place)")
            let lines = bytes.split(separator: 0x0A)
            #expect(!lines.isEmpty)
            for line in lines {
                let object = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
                #expect(object != nil, "\(place): \(String(decoding: line, as: UTF8.self))")
            }
            guard place != "log" else { continue }
            let numbers = lines.compactMap { line in
                String(decoding: line, as: UTF8.self).firstMatch(of: /^\{"seq":(\d+),/).flatMap { Int($0.1) }
            }
            #expect(numbers == Array(1...lines.count))
        }
    }
}
