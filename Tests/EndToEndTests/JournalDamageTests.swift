import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@Suite("A journal that is deleted while the gateway runs")
struct JournalDamageTests {
    private static let send = "/api/notifications?pns=apns&to_tag=bob"

    private static func readiness(_ port: Int) async throws -> RawClient.Response {
        try await RawClient(port: port).send("GET /health/ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    }

    @Test(
        "Readiness and the next send detect a deleted journal, later sends are recorded, and readiness reports the loss"
    )
    func deleted() async throws {
        try await GatewayUnderTest.run { gateway in
            #expect(try await gateway.client.call("POST", Self.send, as: "alice", body: #""a""#).status == 200)
            #expect(try await Self.readiness(gateway.adminPort).status == 200)
            try FileManager.default.removeItem(
                atPath: "\(gateway.directory.path)/journal/journal-00000000000000000001.jsonl")
            // The gateway may already have detected the deletion.
            let first = try await Self.readiness(gateway.adminPort)
            #expect(first.text.contains("was deleted while it was written") || first.text.contains("are missing"))
            var answer = try await gateway.client.call("POST", Self.send, as: "alice", body: #""b""#)
            while answer.status == 503 {
                #expect(answer.problem == "journal-unavailable")
                answer = try await gateway.client.call("POST", Self.send, as: "alice", body: #""b""#)
            }
            #expect(answer.status == 200)
            let call = answer.field("X-Request-Id")
            try await gateway.record { $0["kind"] as? String == "intent" && $0["call"] as? String == call }
            let loss = try await gateway.record { $0["result"] as? String == "lines-missing" }
            #expect(loss["first"] as? Int == 1)
            let ready = try await Self.readiness(gateway.adminPort)
            #expect(ready.status == 200)
            #expect(ready.text.contains(#""warning":"journal: lines 1 to "#))
        }
    }
}
