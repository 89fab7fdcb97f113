import Foundation
import GatewayTesting
import NIOCore
import Testing

@Suite("The operator API of a running gateway")
struct OperatorAPITests {
    private let directory: TestFiles

    init() throws {
        directory = try .ofGateway(#"limits: [{ name: pair, per: [sender, recipient], rate: 1/h }]"#)
    }

    private func api() throws -> RawClient { try RawClient(socket: "\(directory.path)/control.sock") }

    /// Makes a request and returns the status and the document of the response.
    private func request(
        _ method: String, _ target: String, _ body: String? = nil
    ) async throws -> (status: Int, document: [String: Any]) {
        let response = try await api().call(method, target, body: body)
        #expect(response.field("Connection") == "close" && response.field("Date") != nil)
        guard !response.body.isEmpty else { return (response.status, [:]) }
        let document = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        if response.status >= 400 {
            #expect(response.field("Content-Type") == "application/problem+json", "\(response.text)")
            #expect(document?["status"] as? Int == response.status)
            #expect((document?["detail"] as? String)?.isEmpty == false)
        }
        return (response.status, try #require(document))
    }

    /// Makes a request and returns everything that is received.
    private func received(_ method: String, _ target: String, _ body: String? = nil) async throws -> String {
        let connection = try await api().connect()
        try await connection.send(RawClient.request(method, target, body: body))
        return await connection.receiveToEnd()
    }

    @Test("Each resource accepts good requests and rejects bad ones, and bad ones leave no record")
    func resources() async throws {
        let good: [(String, String, String?, Int)] = [
            ("POST", "/v1/reload", nil, 200), ("GET", "/v1/bans", nil, 200), ("GET", "/v1/bans?limit=1", nil, 200),
            ("DELETE", "/v1/bans?user=ALICE", nil, 200), ("DELETE", "/v1/bans?address=2001:db8::1", nil, 200),
            ("DELETE", "/v1/bans?all=true", nil, 200), ("GET", "/v1/limits", nil, 200),
            ("GET", "/v1/limits?user=alice&recipient=bob&name=pair", nil, 200),
            ("DELETE", "/v1/limits?name=pair", nil, 200), ("DELETE", "/v1/limits?all=true", nil, 200),
            ("GET", "/v1/sessions?user=alice", nil, 200), ("POST", "/v1/revocations", #"{"user":"alice"}"#, 200),
            (
                "POST", "/v1/revocations", #"{"user":"alice","token":"t1","until":"2999-01-01T00:00:00Z"}"#, 204
            ),
            ("GET", "/v1/registrations?limit=1000", nil, 200),
            ("POST", "/v1/policy/explain", #"{"user":"alice","call":"GET /auth/whoami"}"#, 200),
            ("POST", "/v1/policy/explain", #"{"token":"x.y.z","call":"GET /auth/whoami"}"#, 200),
            ("POST", "/v1/backups", #"{"target":"/var/backups"}"#, 204), ("GET", "/v1/sends?to=bob", nil, 200),
            ("GET", "/v1/refusals?since=2026-01-01T00:00:00Z", nil, 200), ("GET", "/v1/users/bob", nil, 200),
            ("GET", "/v1/nodes", nil, 200), ("GET", "/v1/accounts/waiting?limit=1", nil, 200),
            ("GET", "/v1/journal/verification", nil, 200), ("GET", "/v1/journal/segments?limit=1", nil, 200),
            ("GET", "/v1/statistics/minutes?since=2026-01-01T00:00:00Z", nil, 200),
            ("GET", "/v1/statistics/pairs?user=ALICE&result=failed&limit=5000", nil, 200),
        ]
        let bad: [(String, String, String?, Int)] = [
            ("POST", "/v1/reload", "{}", 400), ("GET", "/v1/bans?limit=0", nil, 400),
            ("DELETE", "/v1/bans", nil, 400), ("DELETE", "/v1/bans?all=false", nil, 400),
            ("DELETE", "/v1/bans?user=a%20b", nil, 422), ("DELETE", "/v1/bans?user=bob&all=true", nil, 400),
            ("DELETE", "/v1/limits", nil, 400), ("DELETE", "/v1/limits?name=none", nil, 422),
            ("GET", "/v1/limits?pns=smoke", nil, 422), ("GET", "/v1/sessions?user=", nil, 422),
            ("POST", "/v1/revocations", "{}", 400), ("POST", "/v1/revocations", #"{"session":"none"}"#, 404),
            ("POST", "/v1/revocations", #"{"user":"a","token":"t","until":"tomorrow"}"#, 400),
            ("GET", "/v1/registrations?cursor=!", nil, 400), ("DELETE", "/v1/registrations/1-2-3", nil, 404),
            ("DELETE", "/v1/registrations/%2e%2e", nil, 400),
            ("POST", "/v1/registrations/import", #"{"file":"relative"}"#, 400),
            ("POST", "/v1/registrations/import", #"{"file":"/missing"}"#, 422),
            ("POST", "/v1/registrations/reconcile", #"{"connection_string":"x"}"#, 422),
            ("POST", "/v1/registrations/reconcile", #"{"apply":1}"#, 422),
            ("POST", "/v1/policy/explain", #"{"user":"alice"}"#, 400),
            ("POST", "/v1/policy/explain", #"{"user":"alice","call":"nonsense"}"#, 422),
            ("POST", "/v1/backups", #"{"file":"/copy"}"#, 400),
            ("GET", "/v1/sends?result=unheard", nil, 422), ("GET", "/v1/sends?platform=smoke", nil, 422),
            ("GET", "/v1/refusals?until=1", nil, 400), ("GET", "/v1/sends?cursor=eA", nil, 400),
            ("GET", "/v1/users/a%20b", nil, 422), ("GET", "/v1/users/%ff", nil, 400),
            ("GET", "/v1/journal/verification?fast=true", nil, 400), ("GET", "/v2/bans", nil, 404),
            ("GET", "/v1/statistics/minutes?until=1", nil, 400), ("GET", "/v1/statistics/pairs?limit=5001", nil, 400),
            ("GET", "/v1/statistics/pairs?limit=%2B1", nil, 400), ("GET", "/v1/statistics/pairs?cursor=MQ", nil, 400),
            ("GET", "/v1/statistics/pairs?result=accepte", nil, 422),
            ("GET", "/v1/journal/segments?cursor=eA", nil, 400),
            ("POST", "/v1/accounts/apply", nil, 422), ("GET", "/v1/accounts/waiting?user=a", nil, 400),
            ("POST", "/v1/accounts/waiting", nil, 405), ("GET", "/v1/nodes?state=live", nil, 400),
            ("GET", "/v1/calls/x", nil, 404), ("GET", "/v1/calls/0123456789abcdef0123456789abcdef", nil, 404),
            ("GET", "/v1/events?x", nil, 400), ("POST", "/v1/events", nil, 405), ("PUT", "/v1/bans", nil, 405),
        ]
        _ = try await ServedProgram.run(in: directory) { _ async throws in
            for (method, target, body, status) in good {
                let found = try await request(method, target, body)
                #expect(found.status == status, "\(method) \(target) \(body ?? ""): \(found)")
            }
            let records = try GatewayUnderTest.journal(in: directory).count
            for (method, target, body, status) in bad {
                let found = try await request(method, target, body)
                #expect(found.status == status, "\(method) \(target) \(body ?? ""): \(found)")
            }
            #expect(try GatewayUnderTest.journal(in: directory).count == records)
        }
    }

    @Test("Sends, refusals and a user show what the journal and the stores contain")
    func reads() async throws {
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            let handle = String(repeating: "5A", count: 32)
            #expect(try await gateway.client.register("bob", "apns", handle).status == 200)
            func send(_ user: String) async throws -> Int {
                try await gateway.client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=bob", as: user, body: #""hi""#
                ).status
            }
            #expect(try await send("alice") == 200)
            #expect(try await send("alice") == 429)
            #expect(try await send("carol") == 200)

            // The outcomes are on disk with the next change at the latest.
            #expect(try await request("DELETE", "/v1/bans?all=true").status == 200)
            let sends = try await request("GET", "/v1/sends?limit=2").document
            let rows = try #require(sends["items"] as? [[String: Any]])
            #expect(rows.map { $0["from"] as? String } == ["carol", "alice"])
            #expect(rows.map { $0["to"] as? [String] } == [["bob"], ["bob"]])
            #expect(rows.map { $0["result"] as? String } == ["accepted", "rate-limited"])
            #expect(rows[0]["rule"] as? String == "send[0]" && rows[0]["ms"] != nil && rows[1]["limit"] != nil)
            let next = try #require(sends["next"] as? String)
            let rest = try await request("GET", "/v1/sends?limit=2&cursor=\(next)").document
            #expect((rest["items"] as? [[String: Any]])?.map { $0["from"] as? String } == ["alice"])
            #expect(rest["next"] == nil)

            let refusals = try await request("GET", "/v1/refusals?user=alice").document["items"] as? [[String: Any]]
            #expect(refusals?.map { $0["result"] as? String } == ["rate-limited"])
            #expect(refusals?[0]["to"] as? String == "bob")

            let call = try #require(rows[0]["call"] as? String)
            let records = try await request("GET", "/v1/calls/\(call)").document["records"] as? [[String: Any]]
            #expect(records?.map { $0["kind"] as? String } == ["intent", "outcome"])
            #expect(records?.allSatisfy { $0["call"] as? String == call } == true)
            try await statistics()

            let verification = try await request("GET", "/v1/journal/verification").document
            #expect(verification["good"] as? Bool == true)
            #expect(try (verification["lines"] as? Int) == GatewayUnderTest.journal(in: directory).count)

            let bob = try await request("GET", "/v1/users/BOB").document
            #expect(bob["user"] as? String == "bob")
            #expect((bob["registrations"] as? [Any])?.count == 1)
            let received = try #require(bob["received"] as? [[String: Any]])
            #expect(received.map { $0["from"] as? String } == ["carol", "alice"])
        }
    }

    /// Compares the statistics and the list of segments with what `reads` has sent.
    private func statistics() async throws {
        // The first request starts the counting, and a list of the journal brings it up to date.
        _ = try await request("GET", "/v1/statistics/pairs")
        _ = try await request("GET", "/v1/sends")
        let found = try await request("GET", "/v1/statistics/pairs?to=bob").document
        #expect(found["complete"] as? Bool == true && found["omitted_pairs"] as? Int == 0)
        let pairs = try #require(found["pairs"] as? [[String: Any]])
        #expect(pairs.map { $0["from"] as? String } == ["alice", "carol"])
        #expect(pairs.map { [$0["accepted"] as? Int, $0["refused"] as? Int] } == [[1, 1], [1, 0]])
        let minutes = try await request("GET", "/v1/statistics/minutes").document
        let rows = try #require(minutes["minutes"] as? [[String: Any]])
        func sum(_ name: String) -> Int { rows.reduce(0) { $0 + ($1[name] as? Int ?? 0) } }
        #expect(rows.count == 1440 && sum("accepted") == 2 && sum("refused") == 1)
        let latencies: [Int] = rows.flatMap { $0["latency"] as? [Int] ?? [] }
        #expect(latencies.reduce(0, +) == 2)
        let segments = try await request("GET", "/v1/journal/segments").document["items"] as? [[String: Any]]
        #expect(segments?.count == 1 && segments?[0]["first"] as? Int == 1)
        #expect(segments?[0]["closed"] as? Bool == false)
    }

    @Test("A long operation returns a line for each result, the totals and its end")
    func lines() async throws {
        let valid =
            "<AppleRegistrationDescription><RegistrationId>1-1-1</RegistrationId><Tags>username:alice</Tags>"
            + "<DeviceToken>\(String(repeating: "A1", count: 32))</DeviceToken></AppleRegistrationDescription>"
        try directory.write("not an entry\nneither\n\(valid)\n", to: "export.xml")
        _ = try await ServedProgram.run(in: directory) { _ async throws in
            let text = try await received(
                "POST", "/v1/registrations/import", "{\"file\":\"\(directory.path)/export.xml\"}")
            #expect(
                text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("\r\nContent-Type: application/x-ndjson\r\n"))
            let found = text.split(separator: "\r\n").filter { $0.hasPrefix("{") }.joined()
            let lines = found.split(separator: "\n").map(String.init)
            #expect(lines.count == 4, "\(text)")
            #expect(lines[0].hasPrefix(#"{"item":{"line":1,"#) && lines[1].hasPrefix(#"{"item":{"line":2,"#))
            #expect(lines[2].hasPrefix(#"{"totals":{"bound":1,"#) && lines[3] == #"{"end":"done"}"#)
        }
    }

    @Test("Events are the journal's new records, `Last-Event-ID` resumes them, and the gateway ends them when it stops")
    func events() async throws {
        let (stream, status) = try await ServedProgram.run(in: directory) { _ async throws in
            let first = try await api().connect()
            try await first.send("GET /v1/events HTTP/1.1\r\nHost: gateway\r\n\r\n")
            _ = await first.receive { $0.contains(":\n\n") }
            #expect(try await request("DELETE", "/v1/bans?address=192.0.2.7").status == 200)
            let event = await first.receive { $0.contains("192.0.2.7") && $0.hasSuffix("\n\n\r\n") }
            let record = try #require(try GatewayUnderTest.journal(in: directory).last)
            let number = try #require(record["seq"] as? Int)
            #expect(event.contains("id: \(number)\nevent: record\ndata: {\"seq\":\(number),"), "\(event)")
            try await first.channel.close()

            let second = try await api().connect()
            try await second.send(
                "GET /v1/events HTTP/1.1\r\nHost: gateway\r\nLast-Event-ID: \(number - 1)\r\n\r\n")
            let again = await second.receive { $0.contains("192.0.2.7") }
            #expect(again.contains("id: \(number)\n") && !again.contains("id: \(number - 1)\n"), "\(again)")
            return second
        }
        #expect(status == 0)
        #expect(await stream.receiveToEnd().hasSuffix("0\r\n\r\n"))
    }

    @Test("Connections beyond the bounds get 503 or none, and those that send nothing make room after five seconds")
    func crowd() async throws {
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            var silent: [RawConnection] = []
            for _ in 0..<16 { silent.append(try await api().connect()) }
            // Event loops admit connections independently, so a request may take the place of an earlier connection.
            var found = try await request("GET", "/v1/bans")
            while found.status == 200 {
                silent.append(try await api().connect())
                found = try await request("GET", "/v1/bans")
            }
            #expect(found.status == 503)
            #expect(found.document["detail"] as? String == "Too many requests are in progress.")
            for _ in 0..<20 { silent.append(try await api().connect()) }
            let command = try await gateway.command("bans", "list")
            #expect(command.status == 69, "\(command.errors)")
            var responses: [String] = []
            for connection in silent { responses.append(await connection.receiveToEnd()) }
            let inTime = responses.filter { $0.hasPrefix("HTTP/1.1 408 Request Timeout\r\n") }
            #expect((16...32).contains(inTime.count))
            #expect(responses.allSatisfy { $0.isEmpty || inTime.contains($0) })
            // Rejected connections stay open for a second, so a request may still be closed without a response.
            while found.status != 200 { found = (try? await request("GET", "/v1/bans")) ?? found }
        }
    }
}
