import Foundation
import GatewaySupport
import GatewayTesting
import NotifyBackend
import Testing

/// Situations in the life of a device, for each backend. After each of them the device registers again without a
/// reinstallation, no other registration at the backend has changed, and nobody receives a notification of another
/// user.
@Suite("Devices and their registrations") struct PhoneTests {
    private static let first = String(repeating: "A1", count: 32)
    private static let second = String(repeating: "A2", count: 32)
    private static let bobs = String(repeating: "B0", count: 32)

    /// Runs the body with a gateway at which carol has registered an uninvolved device.
    private func run(
        _ upstream: TestUpstream, _ body: (GatewayUnderTest, RawClient, NotificationHub) async throws -> Void
    ) async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.run(upstream, hub: hub) { gateway, direct in
            let phone = try await Phone.new("carol", String(repeating: "CA", count: 32), at: gateway)
            let before = hub.registrations().first { $0.handle == phone.handle }
            try await body(gateway, direct, hub)
            #expect(hub.registrations().first { $0.handle == phone.handle } == before)
            #expect(hub.inbox(ofHandle: phone.handle).isEmpty)
            try await expectConsistent(gateway, hub)
        }
    }

    /// Expects that ledger and backend have the same registrations for the same users, with at most one for each device
    /// handle, and that each intent in the journal has an outcome.
    private func expectConsistent(_ gateway: GatewayUnderTest, _ hub: NotificationHub) async throws {
        try gateway.directory.write("control: control.sock\n", to: "control.yaml")
        let listed = try await Program.run(
            ["registrations", "list", "--json", "--config", "control.yaml"], in: gateway.directory.path)
        let ledger = try listed.output.split(separator: "\n").map { line in
            let item = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return "\(item?["registration"] ?? "-") username:\(item?["user"] ?? "-") \(item?["state"] ?? "-")"
        }
        let known = hub.registrations().filter { !$0.tags.contains { $0.hasPrefix("username:gone-") } }
        #expect(Set(ledger) == Set(known.map { "\($0.id) \($0.tags.joined(separator: ",")) live" }))
        #expect(Set(known.map(\.handle)).count == known.count)
        try await JournalChanges(in: gateway.directory).first {
            let records = try gateway.journal()
            let intents = records.filter { $0["kind"] as? String == "intent" }.compactMap { $0["call"] as? String }
            let outcomes = records.filter { $0["kind"] as? String == "outcome" }.compactMap { $0["call"] as? String }
            return intents.sorted() == outcomes.sorted() ? true : nil
        }
    }

    /// Sends to each user and returns the users whose notifications each device handle received.
    private func received(
        _ gateway: GatewayUnderTest, _ hub: NotificationHub, _ handles: [String]
    ) async throws -> [[String]] {
        let before = handles.map { hub.inbox(ofHandle: $0).count }
        for user in ["alice", "bob", "eve"] {
            let sent = try await gateway.client.call(
                "POST", "/api/notifications?pns=apns&to_tag=\(user)", as: "carol", body: "\"to \(user)\"")
            #expect(sent.status == 200)
        }
        return zip(handles, before).map { handle, count in
            hub.inbox(ofHandle: handle).dropFirst(count).map { payload in
                ["alice", "bob", "eve"].first { payload.payload.contains("to \($0)\"") } ?? "?"
            }
        }
    }

    @Test("A device changes its owner", .shows(.rule3), arguments: TestUpstream.allCases)
    func changesHands(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, _, hub in
            var phone = try await Phone.new("alice", Self.first, at: gateway)
            #expect(try await received(gateway, hub, [Self.first]) == [["alice"]])
            // An iOS device keeps its id when another user logs in.
            phone.user = "bob"
            #expect(try await phone.register(at: gateway) == 200)
            #expect(try await received(gateway, hub, [Self.first]) == [["bob"]])
            let record = try await gateway.record {
                $0["action"] as? String == "hand-over" && $0["kind"] as? String == "outcome"
            }
            #expect(record["user"] as? String == "bob" && record["recipient"] as? String == "alice")
            #expect(try await phone.register(at: gateway) == 200)
            phone.user = "alice"
            #expect(try await phone.register(at: gateway) == 200)
            #expect(try await received(gateway, hub, [Self.first]) == [["alice"]])
        }
    }

    @Test("A shared device gets another push token", .shows(.rule3), arguments: TestUpstream.allCases)
    func sharedPhoneWithRotatedToken(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, _, hub in
            var phone = try await Phone.new("alice", Self.first, at: gateway)
            phone.user = "bob"
            #expect(try await phone.register(at: gateway) == 200)
            let bobs = hub.registrations().first { $0.handle == Self.first }
            // The id of the device now belongs to bob's registration, and alice is the first to register the new push
            // token.
            phone.user = "alice"
            phone.handle = Self.second
            #expect(try await phone.register(at: gateway) == 200)
            #expect(hub.registrations().first { $0.handle == Self.first } == bobs)
            #expect(try await received(gateway, hub, [Self.first, Self.second]) == [["bob"], ["alice"]])
            #expect(try await phone.register(at: gateway) == 200)
        }
    }

    @Test("A push token changes, and the registration keeps its id", .shows(.rule3), arguments: TestUpstream.allCases)
    func rotated(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, _, hub in
            var phone = try await Phone.new("alice", Self.first, at: gateway)
            let id = hub.registrations().first { $0.handle == Self.first }?.id
            phone.handle = Self.second
            #expect(try await phone.register(at: gateway) == 200)
            #expect(hub.registrations().first { $0.handle == Self.second }?.id == id)
            #expect(try await received(gateway, hub, [Self.first, Self.second]) == [[], ["alice"]])
        }
    }

    @Test(
        "A device that is restored from the backup of another gets a registration of its own", .shows(.rule3),
        arguments: TestUpstream.allCases)
    func restored(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, _, hub in
            let old = try await Phone.new("alice", Self.first, at: gateway)
            let alices = hub.registrations().first { $0.handle == Self.first }
            let restored = Phone(user: "bob", handle: Self.second, label: old.label)
            #expect(try await restored.register(at: gateway) == 200)
            #expect(hub.registrations().first { $0.handle == Self.first } == alices)
            #expect(try await received(gateway, hub, [Self.first, Self.second]) == [["alice"], ["bob"]])
            // Both devices continue with the same id.
            for phone in [old, restored, old] { #expect(try await phone.register(at: gateway) == 200) }
            #expect(try await received(gateway, hub, [Self.first, Self.second]) == [["alice"], ["bob"]])
        }
    }

    @Test(
        "A user who registers a stolen device handle receives no notification of its owner", .shows(.rule3, .v11),
        arguments: TestUpstream.allCases)
    func stolenHandle(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, _, hub in
            let phone = try await Phone.new("bob", Self.bobs, at: gateway)
            let bobs = try #require(hub.registrations().first { $0.handle == Self.bobs })
            let asked = try await gateway.client.call("POST", "/api/register?handle=\(Self.bobs)", as: "eve")
            #expect(asked.status == 200 && !asked.text.contains(bobs.id))
            #expect(hub.registrations().first { $0.handle == Self.bobs } == bobs)
            // The device belongs to eve after her registration. She receives nothing for bob, and the journal records
            // the transfer.
            let label = String(asked.text.dropFirst().dropLast())
            #expect(try await Phone(user: "eve", handle: Self.bobs, label: label).register(at: gateway) == 200)
            #expect(try await received(gateway, hub, [Self.bobs]) == [["eve"]])
            let record = try await gateway.record { $0["action"] as? String == "hand-over" }
            #expect(record["user"] as? String == "eve" && record["recipient"] as? String == "bob")
            #expect(try await phone.register(at: gateway) == 200)
            #expect(try await received(gateway, hub, [Self.bobs]) == [["bob"]])
        }
    }

    @Test(
        "A registration under the id of another user leaves that registration unchanged", .shows(.rule3, .v9),
        arguments: TestUpstream.allCases)
    func foreignID(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, _, hub in
            let phone = try await Phone.new("bob", Self.bobs, at: gateway)
            let bobs = hub.registrations().first { $0.handle == Self.bobs }
            #expect(try await Phone(user: "eve", handle: Self.first, label: phone.label).register(at: gateway) == 200)
            #expect(hub.registrations().first { $0.handle == Self.bobs } == bobs)
            let deleted = try await gateway.client.call("DELETE", "/api/register/\(phone.label)", as: "alice")
            let unknown = try await gateway.client.call("DELETE", "/api/register/1-2-3", as: "alice")
            #expect(deleted.status == 403 && deleted.body == unknown.body)
            #expect(try await received(gateway, hub, [Self.bobs, Self.first]) == [["bob"], ["eve"]])
            #expect(try await phone.register(at: gateway) == 200)
        }
    }

    @Test(
        "A user who guesses a former id of another user gets a registration of their own", .shows(.rule3, .v10),
        arguments: TestUpstream.allCases)
    func guessedOldID(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, _, hub in
            let phone = try await Phone.new("bob", Self.bobs, at: gateway)
            let old = try #require(hub.registrations().first { $0.handle == Self.bobs }?.id)
            #expect(try await gateway.client.call("DELETE", "/api/register/\(old)", as: "bob").status == 200)
            for label in [old, "1-2-3"] {
                let eves = Phone(user: "eve", handle: Self.first, label: label)
                #expect(try await eves.register(at: gateway) == 200)
                #expect(!hub.registrations().contains { $0.id == label })
                #expect(try await gateway.client.call("DELETE", "/api/register/\(label)", as: "eve").status == 200)
            }
            #expect(try await phone.register(at: gateway) == 200)
            #expect(try await received(gateway, hub, [Self.bobs, Self.first]) == [["bob"], []])
        }
    }

    @Test(
        "A new id with a known device handle updates the existing registration", .shows(.rule3),
        arguments: TestUpstream.allCases)
    func freshIDWithKnownHandle(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, _, hub in
            _ = try await Phone.new("bob", Self.bobs, at: gateway)
            let id = hub.registrations().first { $0.handle == Self.bobs }?.id
            // A Windows client requests each id without a device handle.
            let fresh = try await gateway.client.call("POST", "/api/register", as: "bob")
            let reinstalled = Phone(user: "bob", handle: Self.bobs, label: String(fresh.text.dropFirst().dropLast()))
            #expect(reinstalled.label != id)
            #expect(try await reinstalled.register(at: gateway) == 200)
            #expect(hub.registrations().filter { $0.handle == Self.bobs }.map(\.id) == [id])
            #expect(try await reinstalled.register(at: gateway) == 200)
            #expect(try await received(gateway, hub, [Self.bobs]) == [["bob"]])
        }
    }

    @Test(
        "The gateway recreates a lost registration and handles a deletion that the backend rejects",
        .shows(.rule4, .v17),
        arguments: TestUpstream.allCases)
    func lostRegistration(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, _, hub in
            let phone = try await Phone.new("bob", Self.bobs, at: gateway)
            // The net6 backend returns 200 for each registration, so the gateway cannot detect the loss.
            if upstream != .net6 {
                let lost = try #require(hub.registrations().first { $0.handle == Self.bobs })
                #expect(hub.expire(registration: lost.id))
                #expect(try await phone.register(at: gateway) == 200)
                try await gateway.record { $0["result"] as? String == "healed" }
                #expect(hub.registrations().first { $0.handle == Self.bobs }?.id != lost.id)
                #expect(try await received(gateway, hub, [Self.bobs]) == [["bob"]])
            }
            hub.inject(.deleteFails)
            // A registration that the backend does not delete is overwritten. If the response to that proves nothing, the
            // gateway repeats the deletion until the backend confirms it. A hub's response is clear, and the deletion is
            // repeated without overwriting.
            let expected: (status: Int, result: String) =
                switch upstream {
                case .classic, .core: (200, "neutralised")
                case .net6: (502, "delete-unconfirmed")
                case .hub: (502, "backend-failed")
                }
            let deletion = try await gateway.client.call("DELETE", "/api/register/\(phone.label)", as: "bob")
            #expect(deletion.status == expected.status)
            try await gateway.record { $0["result"] as? String == expected.result }
            if upstream != .hub { #expect(try await received(gateway, hub, [Self.bobs]) == [[]]) }
            #expect(try await phone.register(at: gateway) == 200)
            #expect(try await received(gateway, hub, [Self.bobs]) == [["bob"]])
        }
    }

    @Test("A device from before the gateway keeps its registration", .shows(.rule3), arguments: TestUpstream.allCases)
    func fromBefore(upstream: TestUpstream) async throws {
        try await run(upstream) { gateway, direct, hub in
            #expect(try await direct.registerDirectly("bob", upstream.flavor, Self.bobs, id: "7-7-7").status == 200)
            let phone = Phone(user: "bob", handle: Self.bobs, label: "7-7-7")
            // The device knows its id and requests no other.
            #expect(try await phone.register(at: gateway) == 200)
            let record = try await gateway.record { $0["result"] as? String == "adopted" }
            #expect(record["registration"] as? String == "7-7-7" && record["user"] as? String == "bob")
            #expect(hub.registrations().filter { $0.handle == Self.bobs }.map(\.id) == ["7-7-7"])
            #expect(try await phone.register(at: gateway) == 200)
            #expect(try await received(gateway, hub, [Self.bobs]) == [["bob"]])
        }
    }
}

/// A device with the tutorial's app, which stores one id permanently, whichever user logs in.
private struct Phone {
    var user: String
    var handle: String
    let label: String

    /// Returns a device after the first start of the app.
    static func new(_ user: String, _ handle: String, at gateway: GatewayUnderTest) async throws -> Phone {
        let answer = try await gateway.client.call("POST", "/api/register?handle=\(handle)", as: user)
        #expect(answer.status == 200)
        let phone = Phone(user: user, handle: handle, label: String(answer.text.dropFirst().dropLast()))
        #expect(try await phone.register(at: gateway) == 200)
        return phone
    }

    /// Registers the device, as the app does at each start.
    func register(at gateway: GatewayUnderTest) async throws -> Int {
        try await gateway.client.call(
            "PUT", "/api/register/\(label)", as: user, body: #"{"Platform":"apns","Handle":"\#(handle)","Tags":[]}"#
        ).status
    }
}
