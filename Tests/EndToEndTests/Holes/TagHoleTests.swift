import Foundation
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Holes of tags") struct TagHoleTests {
    @Test("A recipient is one user, and no expression", .shows(.v4), arguments: BackendFlavor.allCases)
    func recipients(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            #expect(try await bench.gateway.client.register("eve", "apns", HoleBench.eves).status == 200)
            let everybody = HoleBench.send(to: "x%7C%7C!y")
            #expect(try await bench.direct.call("POST", everybody, as: "carol", body: #""x""#).status == 200)
            for handle in [HoleBench.bobs, HoleBench.eves] { #expect(bench.arrived(at: handle).count == 1) }
            for recipient in [
                "x%7C%7C!y", "bob%7C%7Cusername:eve", "bob||username:eve", "bob%20%26%26%20x", "!x", "(bob)", "bob)",
                "username:eve", "",
            ] {
                let refused = try await bench.gateway.client.call(
                    "POST", HoleBench.send(to: recipient), as: "carol", body: #""x""#)
                #expect(refused.status == 400 && refused.problem == "malformed-request", "\(recipient)")
            }
            for handle in [HoleBench.bobs, HoleBench.eves] { #expect(bench.arrived(at: handle).count == 1) }
        }
    }

    /// eve registers with the tag, and looks whether she gets what alice sends to bob.
    private func overhears(
        _ tag: String, _ flavor: BackendFlavor, isOpen: Bool = true, spellings: [String] = []
    ) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let direct = try await bench.direct.registerDirectly(
                "eve", flavor, HoleBench.eves, id: "7-7-7", tags: [tag])
            #expect(direct.status == 200)
            let send = try await bench.gateway.client.call("POST", HoleBench.send(), as: "alice", body: #""x""#)
            #expect(send.status == 200)
            #expect(bench.arrived(at: HoleBench.eves).count == (isOpen ? 1 : 0))
            let before = bench.hub.registrations()
            let other = String(repeating: "EF", count: 32)
            for tag in [tag] + spellings {
                let refused = try await bench.gateway.client.register("eve", "apns", other, tags: ["topic:x", tag])
                #expect(refused.status == 403 && refused.problem == "tag-not-allowed", "\(tag)")
            }
            #expect(bench.hub.registrations() == before)
        }
    }

    @Test("Nobody listens to what another sends", .shows(.v5), arguments: BackendFlavor.allCases)
    func from(flavor: BackendFlavor) async throws {
        try await overhears("from:alice", flavor, spellings: ["FROM:alice", "From:eve", "from:"])
    }

    @Test("Nobody has another's tag", .shows(.v6), arguments: BackendFlavor.allCases)
    func username(flavor: BackendFlavor) async throws {
        try await overhears("username:bob", flavor, spellings: ["Username:Bob", "USERNAME:bob", "username:"])
        // The own one is no tag of another's.
        try await HoleBench.run(flavor) { bench async throws in
            let own = try await bench.gateway.client.register("eve", "apns", HoleBench.eves, tags: ["username:EVE"])
            #expect(own.status == 200)
            #expect(bench.hub.registrations().first { $0.handle == HoleBench.eves }?.tags == ["username:eve"])
        }
    }

    @Test("A tag is one tag", .shows(.v7), arguments: BackendFlavor.allCases)
    func comma(flavor: BackendFlavor) async throws {
        try await overhears("x,username:bob", flavor, spellings: ["topic:x,username:bob", "topic:x,", ","])
    }

    @Test("The hub's own tags are nobody's", .shows(.v8), arguments: BackendFlavor.allCases)
    func hubTags(flavor: BackendFlavor) async throws {
        // A hub of the embedded backend delivers by tags alone: that the tag is kept is all that is seen there.
        try await overhears(
            "$UserId:{bob}", flavor, isOpen: false, spellings: ["$InstallationId:{1}", "topic:$UserId:{bob}"])
    }
}
