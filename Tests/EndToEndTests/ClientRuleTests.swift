import Foundation
import GatewayTesting
import NotifyBackend
import Synchronization
import Testing

@Suite("Client rules for each backend profile") struct ClientRuleTests {
    private static let send = "/api/notifications?pns=apns&to_tag=bob"
    private static let accepted = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    @Test(
        "The gateway forwards a send once, whatever the backend responds, and follows no redirect", .shows(.rule7),
        arguments: TestUpstream.allCases)
    func onceOnly(upstream: TestUpstream) async throws {
        let scripts: [[ScriptedServer.Step]] = [
            [.close], [.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), .close],
            [.write(ScriptedServer.response("307 Temporary Redirect", "Location: /elsewhere\r\n"))],
            [.write(ScriptedServer.response("500 Oops"))],
        ]
        for script in scripts {
            let seen = try await ScriptedServer.run { _ in
                script
            } _: { backend in
                try await GatewayUnderTest.run(upstream, at: backend.port) { gateway in
                    let answer = try await gateway.client.call("POST", Self.send, as: "alice", body: #""x""#)
                    #expect(answer.status == 502 && answer.problem == "backend-failed", "\(script)")
                }
                // A gateway asks a hub, at its start, which rights its key has; these requests have no body.
                return backend.seen.filter { upstream != .hub || !$0.target.hasPrefix("/demo/") || !$0.body.isEmpty }
            }
            #expect(seen.count == 1, "\(script)")
            let target = upstream == .hub ? "/demo/messages?api-version=2020-06" : Self.send
            #expect(seen.allSatisfy { $0.line.hasPrefix("POST \(target) ") })
        }
    }

    @Test(
        "A backend timeout is a 504 response, and the journal records it", .shows(.rule9),
        arguments: TestUpstream.allCases)
    func deadline(upstream: TestUpstream) async throws {
        try await ScriptedServer.run { _ in
            []
        } _: { backend in
            try await GatewayUnderTest.run(upstream, at: backend.port, timeout: "200ms") { gateway in
                let answer = try await gateway.client.call("POST", Self.send, as: "alice", body: #""x""#)
                #expect(answer.status == 504 && answer.problem == "backend-timed-out")
                try await gateway.record { $0["result"] as? String == "backend-timed-out" }
            }
        }
    }

    @Test(
        "The gateway reads only JSON in a known charset and without a content coding", .shows(.rule8, .v25),
        arguments: TestUpstream.allCases)
    func mediaTypes(upstream: TestUpstream) async throws {
        try await GatewayUnderTest.run(upstream) { gateway async throws in
            let handle = String(repeating: "B0", count: 32)
            #expect(try await gateway.client.register("bob", "apns", handle).status == 200)
            let credential = Data("alice:alice".utf8).base64EncodedString()
            func send(
                _ fields: String, _ body: [UInt8] = Array(#""café""#.utf8), _ path: String = Self.send
            ) async throws -> Int {
                let head =
                    "POST \(path) HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Basic \(credential)\r\n"
                    + "Content-Length: \(body.count)\r\n\(fields)\r\n"
                return try await gateway.client.send(Array(head.utf8) + body).status
            }
            for type in [
                "application/json", "Application/JSON; charset=\"UTF-8\"", "application/json;charset=us-ascii",
            ] {
                #expect(try await send("Content-Type: \(type)\r\n") == 200, "\(type)")
            }
            #expect(try await send("") == 200)
            let latin = Array("\"caf".utf8) + [0xE9, 0x22]
            #expect(try await send("Content-Type: application/json; charset=iso-8859-1\r\n", latin) == 200)
            #expect(gateway.hub.inbox(ofHandle: handle).allSatisfy { $0.payload.contains("café") })
            #expect(gateway.hub.inbox(ofHandle: handle).count == 5)
            for fields in [
                "Content-Type: text/plain\r\n", "Content-Type: application/xml\r\n", "Content-Type: text/json\r\n",
                "Content-Type: application/json; charset=utf-16\r\n", "Content-Encoding: gzip\r\n",
            ] {
                #expect(try await send(fields) == 415, "\(fields)")
            }
            #expect(try await send("Content-Type: text/plain\r\n", [], "/api/register") == 200)
            #expect(try await send("", Array("x".utf8), "/api/register") == 400)
            #expect(gateway.hub.inbox(ofHandle: handle).count == 5)
        }
    }

    @Test(
        "Rate limits bound the sends of a user and the requests to the hub", .shows(.v20, .v21),
        arguments: TestUpstream.allCases)
    func limits(upstream: TestUpstream) async throws {
        let limits = "limits: [{ name: sends, per: sender, rate: 3/d }, { name: calls, per: user, rate: 6/d }]"
        try await GatewayUnderTest.run(upstream, more: limits) { gateway in
            let handle = String(repeating: "B0", count: 32)
            #expect(try await gateway.client.register("bob", "apns", handle).status == 200)
            var statuses: [Int] = []
            for _ in 0..<5 {
                let sent = try await gateway.client.call("POST", Self.send, as: "eve", body: #""x""#)
                statuses.append(sent.status)
                if sent.status == 429 { #expect(sent.problem == "rate-limited" && sent.field("Retry-After") != nil) }
            }
            #expect(statuses == [200, 200, 200, 429, 429])
            #expect(gateway.hub.inbox(ofHandle: handle).count == 3)
            let before = gateway.seen.all.count
            var reserved: [Int] = []
            for _ in 0..<8 {
                reserved.append(try await gateway.client.call("POST", "/api/register", as: "alice").status)
            }
            #expect(reserved == [200, 200, 200, 200, 200, 200, 429, 429])
            #expect(gateway.seen.all.count == before + 6)
        }
    }

    @Test(
        "The gateway rejects credentials over a plaintext connection without verifying them", .shows(.v22),
        arguments: TestUpstream.allCases)
    func plaintext(upstream: TestUpstream) async throws {
        // The wildcard address makes the listener reachable from other hosts.
        try await GatewayUnderTest.run(upstream, listen: "0.0.0.0:0") { gateway in
            for user in ["alice", "nobody"] {
                let answer = try await gateway.client.call("POST", Self.send, as: user, body: #""x""#)
                #expect(answer.status == 403 && answer.problem == "insecure-transport")
            }
            let token = try await gateway.client.call("GET", "/auth/whoami", token: "x.y.z")
            #expect(token.status == 403 && token.problem == "insecure-transport")
            #expect(gateway.seen.all.isEmpty)
        }
    }
}
