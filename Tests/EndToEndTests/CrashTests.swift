import Foundation
import GatewaySupport
import GatewayTesting
import NotifyBackend
import Testing

@Suite("A gateway that is killed during a registration", .timeLimit(.minutes(5)))
struct CrashTests {
    /// The registration request that is in progress when the gateway is killed.
    enum Step: String, CaseIterable, Sendable {
        case create
        case firstRegistration = "first-registration"
        case ownershipTransfer = "hand-over"
        case rotation
        case delete

        /// The number of requests to the backend.
        var requests: Int { self == .firstRegistration ? 2 : 1 }
    }

    private static let flavors: [BackendFlavor] = TestRun.isFull ? BackendFlavor.allCases : [.classic]
    private static let cases = flavors.flatMap { flavor in
        Step.allCases.flatMap { step in
            (0..<step.requests).flatMap { request in
                KillingProxy.Point.allCases.map { (flavor, step, request, $0) }
            }
        }
    }

    private static let old = String(repeating: "A1", count: 32)
    private static let new = String(repeating: "A2", count: 32)
    private static let bystander = String(repeating: "CA", count: 32)

    @Test(
        "Ledger and backend agree after a restart and a retry, and the journal records the unknown outcome",
        arguments: cases)
    func killed(flavor: BackendFlavor, step: Step, request: Int, point: KillingProxy.Point) async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(flavor, hub: hub) { backend in
            try await KillingProxy.run(backend: backend) { proxy, port in
                let directory = try Self.directory(port, flavor)
                var label = ""
                _ = try await ServedProgram.run(in: directory) { gateway async throws in
                    #expect(try await gateway.client.register("carol", "apns", Self.bystander).status == 200)
                    label = try await Self.prepare(step, at: gateway.client)
                    proxy.kill(gateway.processIdentifier, at: point, after: request)
                    // The request fails, unless the response was faster than the kill.
                    _ = try? await Self.perform(step, label: label, at: gateway.client)
                    await proxy.untilKilled()
                    gateway.kill()
                }
                let untouched = hub.registrations().first { $0.handle == Self.bystander }
                let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
                    try await Self.tryAgain(step, label: label, at: gateway.client)
                    try await Self.expectConsistent(step, gateway, hub)
                }
                #expect(status == 0)
                #expect(hub.registrations().first { $0.handle == Self.bystander } == untouched)
                try Self.expectCompleted(directory, step, point)
            }
        }
    }

    private static func directory(_ port: Int, _ flavor: BackendFlavor) throws -> TestFiles {
        try .ofGateway("backend: { url: \"http://127.0.0.1:\(port)\", profile: \(flavor.rawValue) }")
    }

    /// Creates the registration that the step starts from and returns its id.
    private static func prepare(_ step: Step, at client: RawClient) async throws -> String {
        switch step {
        case .create: return ""
        case .firstRegistration:
            // A Windows client requests an id without a device handle.
            return String(try await client.call("POST", "/api/register", as: "alice").text.dropFirst().dropLast())
        case .ownershipTransfer, .rotation, .delete:
            let reserved = try await client.call("POST", "/api/register?handle=\(old)", as: "alice")
            let label = String(reserved.text.dropFirst().dropLast())
            #expect(try await put(label, old, as: "alice", at: client) == 200)
            return label
        }
    }

    @discardableResult
    private static func perform(_ step: Step, label: String, at client: RawClient) async throws -> RawClient.Response {
        switch step {
        case .create: try await client.call("POST", "/api/register?handle=\(old)", as: "alice")
        case .firstRegistration: try await update(label, old, as: "alice", at: client)
        case .ownershipTransfer: try await update(label, old, as: "bob", at: client)
        case .rotation: try await update(label, new, as: "alice", at: client)
        case .delete: try await client.call("DELETE", "/api/register/\(label)", as: "alice")
        }
    }

    /// Repeats the request that got no response, and completes a new registration.
    private static func tryAgain(_ step: Step, label: String, at client: RawClient) async throws {
        let answer = try await perform(step, label: label, at: client)
        // A registration that was already deleted is not found by the second delete request.
        let good = step == .delete ? [200, 403] : [200]
        #expect(good.contains(answer.status), "\(answer.text)")
        if step == .create {
            #expect(try await put(String(answer.text.dropFirst().dropLast()), old, as: "alice", at: client) == 200)
        }
    }

    private static func update(
        _ label: String, _ handle: String, as user: String, at client: RawClient
    ) async throws -> RawClient.Response {
        try await client.call(
            "PUT", "/api/register/\(label)", as: user,
            body: #"{"Platform":"apns","Handle":"\#(handle)","Tags":[]}"#)
    }

    private static func put(
        _ label: String, _ handle: String, as user: String, at client: RawClient
    ) async throws -> Int {
        try await update(label, handle, as: user, at: client).status
    }

    /// Expects one registration of the device at the backend, the same one in the ledger, and the same owner in both.
    private static func expectConsistent(
        _ step: Step, _ gateway: ServedProgram, _ hub: NotificationHub
    ) async throws {
        let (handle, owner): (String?, String) =
            switch step {
            case .create, .firstRegistration: (old, "alice")
            case .ownershipTransfer: (old, "bob")
            case .rotation: (new, "alice")
            case .delete: (nil, "alice")
            }
        let reachable = hub.registrations().filter {
            $0.handle != bystander && !$0.tags.contains { $0.hasPrefix("username:gone-") }
        }
        let listed = try await gateway.command("registrations", "list", "--json", "--user", owner)
        let items = try listed.output.split(separator: "\n").map { line in
            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
        }
        guard let handle else {
            #expect(reachable.isEmpty && items.isEmpty, "\(reachable) \(items)")
            return
        }
        #expect(reachable.map(\.handle) == [handle], "\(reachable)")
        #expect(reachable.map(\.tags) == [["username:\(owner)"]])
        #expect(items.map { $0["registration"] as? String } == reachable.map(\.id))
        #expect(items.map { $0["state"] as? String } == ["live"])
    }

    /// Expects one outcome for each intent, and the result `unknown-after-crash` for the interrupted call.
    private static func expectCompleted(_ directory: TestFiles, _ step: Step, _ point: KillingProxy.Point) throws {
        let records = try GatewayUnderTest.journal(in: directory)
        let intents = records.filter { $0["kind"] as? String == "intent" }.compactMap { $0["call"] as? String }
        let outcomes = records.filter { $0["kind"] as? String == "outcome" }.compactMap { $0["call"] as? String }
        #expect(intents.sorted() == outcomes.sorted())
        let doubtful = records.filter { $0["result"] as? String == "unknown-after-crash" }
        // If the response was sent, the gateway may have written the outcome before it was killed.
        #expect(doubtful.count == 1 || (point == .answered && doubtful.isEmpty), "\(step) \(doubtful)")
    }
}
