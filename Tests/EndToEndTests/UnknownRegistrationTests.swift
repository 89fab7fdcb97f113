import Foundation
import GatewaySupport
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Registrations with an unknown outcome", .timeLimit(.minutes(5)))
struct UnknownRegistrationTests {
    private static let old = String(repeating: "A1", count: 32)
    private static let new = String(repeating: "A2", count: 32)

    /// The registration request that is interrupted.
    enum Step: String, CaseIterable, Sendable {
        case first, ownershipTransfer = "hand-over", rotation, renewal

        /// The user who may own the device afterwards.
        var user: String { self == .ownershipTransfer ? "bob" : "alice" }

        /// The number of requests from the gateway to the backend.
        var requests: Int { self == .first ? 2 : 1 }
    }

    private static func put(
        _ label: String, _ handle: String, as user: String, at client: RawClient
    ) async throws -> Int {
        try await client.call(
            "PUT", "/api/register/\(label)", as: user,
            body: #"{"Platform":"apns","Handle":"\#(handle)","Tags":[]}"#
        ).status
    }

    private static func prepare(_ step: Step, at client: RawClient) async throws -> String {
        let handle = step == .first ? "" : "?handle=\(old)"
        let reserved = try await client.call("POST", "/api/register\(handle)", as: "alice")
        let label = String(reserved.text.dropFirst().dropLast())
        if step != .first { #expect(try await put(label, old, as: "alice", at: client) == 200) }
        return label
    }

    private static func perform(_ step: Step, _ label: String, at client: RawClient) async throws -> Int {
        try await put(label, step == .rotation ? new : old, as: step.user, at: client)
    }

    private static func devices(of user: String, in hub: NotificationHub) -> [Registration] {
        hub.registrations().filter { $0.tags.contains("username:\(user)") }
    }

    /// Returns when the user has no registration at the backend. The gateway records each deletion after it.
    private static func untilGone(_ user: String, from hub: NotificationHub, in directory: TestFiles) async throws {
        try await JournalChanges(in: directory).first { devices(of: user, in: hub).isEmpty ? true : nil }
    }

    @Test(
        "A broken connection leaves the registration unknown, and a revocation of its user deletes it at the backend",
        arguments: Step.allCases)
    func brokenOff(step: Step) async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { backend in
            try await KillingProxy.run(backend: backend) { proxy, port in
                try await GatewayUnderTest.run(backend: "http://127.0.0.1:\(port)", hub: hub) { gateway in
                    let label = try await Self.prepare(step, at: gateway.client)
                    proxy.breakOff(true)
                    #expect(try await Self.perform(step, label, at: gateway.client) == 502)
                    #expect(Self.devices(of: step.user, in: hub).count == 1)
                    let listed = try await gateway.directory.command("registrations", "list", "--json")
                    #expect(listed.output.contains(#""state":"unknown""#), "\(listed.output) \(listed.errors)")
                    proxy.breakOff(false)
                    let revoked = try await gateway.directory.command("tokens", "revoke", "--user", step.user)
                    #expect(revoked.status == 0, "\(revoked.errors)")
                    try await Self.untilGone(step.user, from: hub, in: gateway.directory)
                }
            }
        }
    }

    @Test("A repeated registration with a response makes the registration known again")
    func knownAgain() async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { backend in
            try await KillingProxy.run(backend: backend) { proxy, port in
                try await GatewayUnderTest.run(backend: "http://127.0.0.1:\(port)", hub: hub) { gateway in
                    let label = try await Self.prepare(.first, at: gateway.client)
                    proxy.breakOff(true)
                    #expect(try await Self.perform(.first, label, at: gateway.client) == 502)
                    proxy.breakOff(false)
                    #expect(try await Self.perform(.first, label, at: gateway.client) == 200)
                    #expect(hub.registrations().map(\.tags) == [["username:alice"]])
                    let listed = try await gateway.directory.command("registrations", "list", "--json")
                    #expect(listed.output.contains(#""state":"live""#) && !listed.output.contains("unknown"))
                }
            }
        }
    }

    /// The three points of each request. The full run repeats each of them and covers all profiles.
    private static let kills: [(BackendFlavor, Step, Int, KillingProxy.Point, Int)] =
        (TestRun.isFull ? BackendFlavor.allCases : [.classic]).flatMap { flavor in
            Step.allCases.flatMap { step in
                (0..<step.requests).flatMap { request in
                    KillingProxy.Point.allCases.flatMap { point in
                        (0..<TestRun.count(full: 10, otherwise: 1)).map { (flavor, step, request, point, $0) }
                    }
                }
            }
        }

    @Test(
        "A revocation deletes the device after the gateway was killed at any point of a registration",
        arguments: kills)
    func killed(
        flavor: BackendFlavor, step: Step, request: Int, point: KillingProxy.Point, round: Int
    ) async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(flavor, hub: hub) { backend in
            try await KillingProxy.run(backend: backend) { proxy, port in
                let directory = try TestFiles.ofGateway(
                    "backend: { url: \"http://127.0.0.1:\(port)\", profile: \(flavor.rawValue) }")
                _ = try await ServedProgram.run(in: directory) { gateway async throws in
                    let label = try await Self.prepare(step, at: gateway.client)
                    proxy.kill(gateway.processIdentifier, at: point, after: request)
                    _ = try? await Self.perform(step, label, at: gateway.client)
                    await proxy.untilKilled()
                    gateway.kill()
                }
                _ = try await ServedProgram.run(in: directory) { gateway async throws in
                    let revoked = try await gateway.command("tokens", "revoke", "--user", step.user)
                    #expect(revoked.status == 0, "\(revoked.errors)")
                    try await Self.untilGone(step.user, from: hub, in: directory)
                }
            }
        }
    }

    @Test(
        "A registration that is deleted during an outage of the hub is deleted when the hub is back")
    func hubOutage() async throws {
        try await GatewayUnderTest.run(.net6) { gateway in
            let label = try await Self.prepare(.renewal, at: gateway.client)
            gateway.hub.inject(.deleteFails, times: 2)
            gateway.hub.inject(.upsertFails, times: 2)
            #expect(try await gateway.client.call("DELETE", "/api/register/\(label)", as: "alice").status == 502)
            #expect(Self.devices(of: "alice", in: gateway.hub).count == 1)
            try await Self.untilGone("alice", from: gateway.hub, in: gateway.directory)
            let records = try gateway.journal().filter { $0["kind"] as? String == "outcome" }
            #expect(records.contains { $0["result"] as? String == "delete-unconfirmed" })
            #expect(!records.contains { $0["result"] as? String == "neutralised" })
        }
    }
}
