import Foundation
import GatewaySupport
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Unmodified clients and unmodified backends")
struct ClientSequenceTests {
    @Test(
        "A client obtains an id, registers, and its message arrives unchanged",
        .shows(.rule1, .rule2, .rule5), arguments: TestUpstream.allCases, ClientRequests.Kind.allCases)
    func sequence(upstream: TestUpstream, kind: ClientRequests.Kind) async throws {
        let fixture = try #require(ClientFixtures.own.first { $0.requests.kind == kind })
        try await check(upstream, fixture.requests, try own(fixture), id: ClientFixtures.id)
    }

    @Test(
        "A client registers and is delivered to behind a hub for Android and a backend for the rest",
        arguments: ClientRequests.Kind.allCases)
    func sequenceBehindTwo(kind: ClientRequests.Kind) async throws {
        let fixture = try #require(ClientFixtures.own.first { $0.requests.kind == kind })
        let requests = try own(fixture)
        try await UpstreamPair.run { pair in
            try await GatewayUnderTest.run(upstreams: pair.androidAtHub, hub: pair.hub, seen: pair.seen) { gateway in
                try await check(gateway, fixture.requests, requests, id: ClientFixtures.id)
            }
        }
        try await UpstreamPair.run(sharing: false) { pair in
            let hub = kind == .android ? pair.hub : pair.classicHub
            try await GatewayUnderTest.run(upstreams: pair.androidAtHub, hub: hub, seen: pair.seen) { gateway in
                try await check(gateway, fixture.requests, requests, id: ClientFixtures.id)
            }
        }
    }

    @Test(
        "The recorded requests of a client work behind two upstreams",
        .enabled(if: TestData.recordedClients != nil, "no recorded requests on this machine"),
        arguments: ClientRequests.Kind.allCases)
    func recordedBehindTwo(kind: ClientRequests.Kind) async throws {
        let (client, requests) = try recorded(kind)
        try await UpstreamPair.run { pair in
            try await GatewayUnderTest.run(upstreams: pair.androidAtHub, hub: pair.hub, seen: pair.seen) { gateway in
                try await check(gateway, client, requests, id: Self.recordedID)
            }
        }
    }

    @Test(
        "The recorded requests of a client obtain an id, register and deliver a message",
        .enabled(if: TestData.recordedClients != nil, "no recorded requests on this machine"),
        arguments: TestUpstream.allCases, ClientRequests.Kind.allCases)
    func recordedSequence(upstream: TestUpstream, kind: ClientRequests.Kind) async throws {
        let (client, requests) = try recorded(kind)
        try await check(upstream, client, requests, id: Self.recordedID)
    }

    /// Reads the project's own requests of a client, without the last one, which fetches the text of a secure send; see
    /// `SecurePushTests`.
    private func own(_ fixture: ClientFixtures) throws -> [[UInt8]] {
        try fixture.files.dropLast()
            .map { try [UInt8](Data(contentsOf: ClientFixtures.folder.appending(path: $0.name))) }
    }

    private static let recordedID = "2372532420827572008-85883004107185159-4"

    private func recorded(_ kind: ClientRequests.Kind) throws -> (client: ClientRequests, requests: [[UInt8]]) {
        let folder = try #require(TestData.recordedClients)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted()
            .filter { $0.hasPrefix(kind.rawValue) }
        let requests = try names.map { try [UInt8](Data(contentsOf: folder.appending(path: $0))) }
        #expect(requests.count == 3)
        let message = ["ios": "He said \"hi\" – café", "windows": #"C:\windows & <b>"#, "android": "café"]
        let client = ClientRequests(
            kind: kind, host: "gateway.example", user: "alice", handle: "", recipient: "bob",
            message: try #require(message[kind.rawValue]))
        return (client, requests)
    }

    private func check(
        _ upstream: TestUpstream, _ client: ClientRequests, _ requests: [[UInt8]], id placeholder: String
    ) async throws {
        try await GatewayUnderTest.run(upstream) { gateway in
            try await check(gateway, client, requests, id: placeholder)
        }
    }

    private func check(
        _ gateway: GatewayUnderTest, _ client: ClientRequests, _ requests: [[UInt8]], id placeholder: String
    ) async throws {
        // The device of the recipient has the same platform.
        let platform = ["ios": "apns", "windows": "wns", "android": "gcm"][client.kind.rawValue] ?? ""
        let bobs = Self.handles[platform] ?? ""
        #expect((200...202).contains(try await gateway.client.register("bob", platform, bobs).status))

        let reserved = try await gateway.client.send(requests[0])
        #expect(reserved.status == 200)
        #expect(reserved.field("Content-Type") == "application/json")
        // Clients remove the first and the last character without looking at them.
        let id = String(reserved.text.dropFirst().dropLast())
        #expect(reserved.text == "\"\(id)\"")
        #expect(id.wholeMatch(of: /[0-9]{1,20}-[0-9]{1,20}-[0-9]{1,3}/) != nil)

        let registered = try await gateway.client.send(Self.replacing(placeholder, with: id, in: requests[1]))
        #expect(registered.status == (client.kind == .windows ? 202 : 200))
        #expect(registered.body.isEmpty)

        let sent = try await gateway.client.send(requests[2])
        #expect(sent.status == 200)
        #expect(sent.body.isEmpty)
        let delivered = gateway.hub.inbox(ofHandle: bobs)
        #expect(delivered.count == 1)
        let payload = try #require(delivered.first?.payload)
        #expect(DevicePayload.text(in: payload) == "From alice: \(client.message)")

        // A client with geofencing adds its position, which the gateway ignores without fences.
        for request in requests.dropFirst(3) {
            #expect(try await gateway.client.send(request).status == 200)
            #expect(gateway.hub.inbox(ofHandle: bobs).count == 2)
        }
        #expect(gateway.seen.all.allSatisfy { !"\($0)".contains("122.3") })
    }

    private static let handles = [
        "apns": "B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0",
        "wns": "https://am3.notify.windows.com/?token=bob",
        "gcm": "bobs-token-bobs-token",
    ]

    private static func replacing(_ old: String, with new: String, in bytes: [UInt8]) -> [UInt8] {
        guard let range = bytes.firstRange(of: Array(old.utf8)) else { return bytes }
        return Array(bytes[..<range.lowerBound]) + Array(new.utf8) + Array(bytes[range.upperBound...])
    }
}
