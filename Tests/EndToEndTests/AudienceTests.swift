import Foundation
import NotifyBackend
import Testing

@Suite("Sends to an audience")
struct AudienceTests {
    private static let policy = """
        policy: { send: [{ from: alice, to: "audience:oncall" }] }
        audiences: { oncall: [bob, Carol, eve] }
        """

    private static func handle(_ user: String) -> String {
        String(repeating: "0", count: 64 - user.count * 2) + Data(user.utf8).map { String(format: "%02X", $0) }.joined()
    }

    @Test(
        "A send to an audience reaches each device of each member once and reports one outcome per member",
        arguments: TestUpstream.allCases)
    func delivery(upstream: TestUpstream) async throws {
        try await GatewayUnderTest.run(upstream, policy: Self.policy) { gateway in
            let client = gateway.client
            for user in ["alice", "bob", "carol", "eve"] {
                #expect(try await client.register(user, "apns", Self.handle(user)).status == 200)
            }
            let sent = try await client.call(
                "POST", "/api/notifications?pns=apns&to_tag=audience:oncall", as: "alice", body: #""all "hands"""#)
            #expect(sent.status == 200 && sent.field("Content-Type") == "application/json")
            #expect(sent.text == #"{"accepted":3,"skipped":0,"failed":0}"#)
            for (user, count) in [("alice", 0), ("bob", 1), ("carol", 1), ("eve", 1)] {
                let payloads = gateway.hub.inbox(ofHandle: Self.handle(user)).map(\.payload)
                #expect(
                    payloads == Array(repeating: #"{"aps":{"alert":"From alice: all \"hands\""}}"#, count: count))
            }
            let call = sent.field("X-Request-Id")
            let records = try gateway.journal().filter { $0["call"] as? String == call }
            #expect(
                records.filter { $0["kind"] as? String == "intent" }.map { $0["recipient"] as? String }
                    == ["bob", "carol", "eve"])
            #expect(records.allSatisfy { $0["audience"] as? String == "oncall" && $0["rule"] as? String == "send[0]" })
            let refused = try await client.call(
                "POST", "/api/notifications?pns=apns&to_tag=audience:oncall", as: "bob", body: #""x""#)
            #expect(refused.problem == "send-not-allowed")
            let single = try await client.call(
                "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""x""#)
            #expect(single.problem == "send-not-allowed")
        }
    }
}
