import GatewayTesting
import NotifyBackend
import Testing

@Suite("Delivery")
struct DeliveryTests {
    private static let alices = String(repeating: "A1", count: 32)
    private static let bobs = String(repeating: "B0", count: 32)
    private static let bobsOther = "bobs-android-token-0001"
    private static let eves = String(repeating: "EE", count: 32)

    @Test(
        "A send reaches the devices of the recipient and no others", .shows(.rule6), arguments: TestUpstream.allCases)
    func reachesRecipientOnly(upstream: TestUpstream) async throws {
        try await GatewayUnderTest.run(upstream) { gateway in
            let client = gateway.client
            #expect(try await client.register("alice", "apns", Self.alices).status == 200)
            #expect(try await client.register("bob", "apns", Self.bobs).status == 200)
            #expect(try await client.register("bob", "gcm", Self.bobsOther).status == 200)
            #expect(try await client.register("eve", "apns", Self.eves).status == 200)
            for pns in ["apns", "fcm"] {
                let sent = try await client.call(
                    "POST", "/api/notifications?pns=\(pns)&to_tag=bob", as: "alice", body: #""hello""#)
                #expect(sent.status == 200)
            }
            #expect(gateway.hub.inbox(ofHandle: Self.bobs).count == 1)
            #expect(gateway.hub.inbox(ofHandle: Self.bobsOther).count == 1)
            #expect(gateway.hub.inbox(ofHandle: Self.alices).isEmpty)
            #expect(gateway.hub.inbox(ofHandle: Self.eves).isEmpty)
        }
    }

    @Test(
        "The gateway rejects a tag that would subscribe to the notifications of another user",
        arguments: TestUpstream.allCases,
        ["from:alice", "username:bob", "x,username:bob", "$UserId:{bob}", "FROM:alice", "Username:Bob"])
    func hostileTags(upstream: TestUpstream, tag: String) async throws {
        try await GatewayUnderTest.run(upstream) { gateway in
            let client = gateway.client
            let refused = try await client.register("eve", "apns", Self.eves, tags: [tag])
            #expect(refused.status == 403)
            #expect(refused.problem == "tag-not-allowed")
            let sent = try await client.call(
                "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""for bob alone""#)
            #expect(sent.status == 200)
            #expect(gateway.hub.inbox(ofHandle: Self.eves).isEmpty)
            #expect(gateway.hub.registrations().allSatisfy { $0.handle != Self.eves })
        }
    }

    @Test("A device that changes its owner receives only notifications of the new owner")
    func ownershipTransfer() async throws {
        try await GatewayUnderTest.run { gateway in
            let client = gateway.client
            #expect(try await client.register("alice", "apns", Self.alices).status == 200)
            #expect(try await client.register("bob", "apns", Self.alices).status == 200)
            #expect(gateway.hub.registrations().count == 1)
            for recipient in ["alice", "bob"] {
                _ = try await client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=\(recipient)", as: "carol", body: "\"to \(recipient)\"")
            }
            let payloads = gateway.hub.inbox(ofHandle: Self.alices).map(\.payload)
            #expect(payloads == [#"{"aps":{"alert":"From carol: to bob"}}"#])
            #expect(try gateway.journal().contains { $0["action"] as? String == "hand-over" })
        }
    }

    @Test("A user can neither overwrite nor delete a registration of another user")
    func foreignRegistration() async throws {
        try await GatewayUnderTest.run { gateway in
            let client = gateway.client
            #expect(try await client.register("bob", "apns", Self.bobs).status == 200)
            let bobs = try #require(gateway.hub.registrations().first)
            let taken = try await client.call(
                "PUT", "/api/register/\(bobs.id)", as: "eve",
                body: #"{"Platform":"apns","Handle":"\#(Self.eves)","Tags":[]}"#)
            // The device is registered, but under an id other than the requested one.
            #expect(taken.status == 200)
            #expect(gateway.hub.registrations().contains { $0.id == bobs.id && $0.handle == Self.bobs })
            let deleted = try await client.call("DELETE", "/api/register/\(bobs.id)", as: "carol")
            #expect(deleted.status == 403)
            #expect(deleted.problem == "not-owner")
            let unknown = try await client.call("DELETE", "/api/register/1-2-3", as: "carol")
            #expect(unknown.body == deleted.body)
            #expect(gateway.hub.registrations().count == 2)
            let own = try await client.call("DELETE", "/api/register/\(bobs.id)", as: "bob")
            #expect(own.status == 200)
            #expect(gateway.hub.registrations().map(\.handle) == [Self.eves])
        }
    }

    @Test("The gateway recreates a registration that the backend has lost", arguments: TestUpstream.allCases)
    func healing(upstream: TestUpstream) async throws {
        try await GatewayUnderTest.run(upstream) { gateway in
            let client = gateway.client
            #expect(try await client.register("bob", "apns", Self.bobs).status == 200)
            let lost = try #require(gateway.hub.registrations().first)
            #expect(gateway.hub.expire(registration: lost.id))
            let again = try await client.call(
                "PUT", "/api/register/\(lost.id)", as: "bob",
                body: #"{"Platform":"apns","Handle":"\#(Self.bobs)","Tags":[]}"#)
            #expect(again.status == 200)
            // The net6 backend returns 200 for each registration, so the gateway cannot detect the loss.
            if upstream != .net6 {
                #expect(gateway.hub.registrations().map(\.handle) == [Self.bobs])
                try await gateway.record { $0["result"] as? String == "healed" }
            }
        }
    }
}
