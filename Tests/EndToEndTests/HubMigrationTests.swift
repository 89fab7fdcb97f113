import Foundation
import GatewayTesting
import NotifyBackend
import Testing

/// The steps of docs/migration.md from a backend to the hub and back.
@Suite("The migration from a backend to the hub")
struct HubMigrationTests {
    /// Bob's devices, by platform.
    private static let devices = [
        "apns": String(repeating: "B0", count: 32), "gcm": "bobs-android-token-0001",
        "wns": "https://db5.notify.windows.com/?token=bobs",
    ]

    /// A gateway during the migration, and what its devices have received up to now.
    private final class Migration {
        let gateway: ReloadingGateway
        let pair: UpstreamPair
        let client: RawClient
        private var sends = 0

        init(_ gateway: ReloadingGateway, _ pair: UpstreamPair) throws {
            self.gateway = gateway
            self.pair = pair
            client = try RawClient(port: gateway.port)
        }

        /// The hubs, without repetition.
        private var hubs: [NotificationHub] { pair.hub === pair.classicHub ? [pair.hub] : [pair.classicHub, pair.hub] }

        /// Uses another value of `backend` from now on.
        func change(to upstream: String) async throws {
            try gateway.write(upstream: upstream)
            let (isTaken, problems) = try await gateway.reload()
            #expect(isTaken && problems.isEmpty, "\(problems)")
        }

        /// Registers devices again, as their apps do when they are opened.
        func open(_ platforms: [String] = Array(devices.keys), as user: String = "bob") async throws {
            for platform in platforms {
                let response = try await client.register(user, platform, devices[platform] ?? "")
                #expect((200...202).contains(response.status), "\(platform) \(response)")
            }
        }

        /// Sends one notification to each platform of the user, and expects that exactly these devices receive exactly
        /// one.
        func send(
            to user: String = "bob", reaches platforms: Set<String>,
            sourceLocation: Testing.SourceLocation = #_sourceLocation
        ) async throws {
            sends += 1
            let text = "message \(sends)"
            for platform in devices.keys {
                let response = try await client.call(
                    "POST", "/api/notifications?pns=\(platform)&to_tag=\(user)", as: "alice", body: "\"\(text)\"")
                #expect(response.status == 200, sourceLocation: sourceLocation)
            }
            for (platform, handle) in devices {
                let count = hubs.flatMap { $0.inbox(ofHandle: handle) }.count { $0.payload.contains(text) }
                #expect(
                    count == (platforms.contains(platform) ? 1 : 0), "\(platform) of \(text)",
                    sourceLocation: sourceLocation)
            }
        }

        /// Waits until nothing is left to delete, and expects that ledger and hubs have the same registrations: one for
        /// each device, for the user.
        func expectAgreement(
            of user: String = "bob", at upstreams: [String: String],
            sourceLocation: Testing.SourceLocation = #_sourceLocation
        ) async throws {
            let ledger = try await ledger()
            var expected: [String: String] = [:]
            for item in ledger { expected[item.platform] = item.backend }
            #expect(expected == upstreams && ledger.count == devices.count, sourceLocation: sourceLocation)
            #expect(ledger.allSatisfy { $0.user == user && $0.state == "live" }, sourceLocation: sourceLocation)
            let ids = Set(ledger.map(\.id))
            let isClean = try await JournalChanges(in: gateway.directory).first {
                let kept = hubs.flatMap { $0.registrations() }
                return Set(kept.map(\.id)) == ids && kept.count == ids.count ? true : nil
            }
            #expect(isClean, sourceLocation: sourceLocation)
            for registration in hubs.flatMap({ $0.registrations() }) {
                #expect(registration.tags.contains("username:\(user)"), sourceLocation: sourceLocation)
            }
        }

        private struct Entry {
            let id, user, platform, state, backend: String
        }

        private func ledger() async throws -> [Entry] {
            try gateway.directory.write("control: control.sock\n", to: "control.yaml")
            let list = try await Program.run(
                ["registrations", "list", "--json", "--config", "control.yaml"], in: gateway.directory.path)
            return try list.output.split(separator: "\n").map { line in
                let item = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                func text(_ name: String) -> String { item?[name] as? String ?? "-" }
                return Entry(
                    id: text("registration"), user: text("user"), platform: text("platform"), state: text("state"),
                    backend: text("backend"))
            }
        }

        var classic: String { "http://127.0.0.1:\(pair.classicPort)" }
        var hub: String { "http://127.0.0.1:\(pair.hubPort)/demo" }
        static let all = Set(devices.keys)

        /// The upstream of each platform in the ledger.
        func upstreams(fcm: String, others: String) -> [String: String] {
            ["fcm": fcm, "apns": others, "wns": others]
        }
    }

    private func migrate(sharing: Bool, _ body: (Migration) async throws -> Void) async throws {
        try await UpstreamPair.run(sharing: sharing) { pair in
            try await ReloadingGateway.run(upstream: pair.classicAlone) { gateway in
                try await body(try Migration(gateway, pair))
            }
        }
    }

    @Test("Backend and gateway share a hub: each step delivers everything exactly once, also before devices register")
    func sameHub() async throws {
        try await migrate(sharing: true) { migration in
            try await migration.open()
            try await migration.send(reaches: Migration.all)
            try await migration.expectAgreement(
                at: migration.upstreams(fcm: migration.classic, others: migration.classic))
            let (classic, hub) = (migration.classic, migration.hub)
            let steps = [
                (migration.pair.androidAtHub, migration.upstreams(fcm: hub, others: classic)),
                (migration.pair.hubAlone, migration.upstreams(fcm: hub, others: hub)),
                (migration.pair.androidAtHub, migration.upstreams(fcm: hub, others: classic)),
                (migration.pair.classicAlone, migration.upstreams(fcm: classic, others: classic)),
            ]
            for (upstream, places) in steps {
                try await migration.change(to: upstream)
                try await migration.send(reaches: Migration.all)
                try await migration.open()
                // A registration of another kind at the same hub is deleted after the response to the device.
                try await migration.expectAgreement(at: places)
                try await migration.send(reaches: Migration.all)
            }
        }
    }

    @Test("The gateway uses another hub: a moved device is reached once it has registered, and only there")
    func otherHub() async throws {
        try await migrate(sharing: false) { migration in
            let (classic, hub) = (migration.classic, migration.hub)
            try await migration.open()
            try await migration.send(reaches: Migration.all)

            try await migration.change(to: migration.pair.androidAtHub)
            try await migration.send(reaches: ["apns", "wns"])
            try await migration.open()
            try await migration.send(reaches: Migration.all)
            try await migration.expectAgreement(at: migration.upstreams(fcm: hub, others: classic))

            // The backend is kept for the deletions until every device has moved.
            let allAtHub =
                "[{ platforms: [apns, wns, mpns, fcm], \(TestUpstream.hub.settings(port: migration.pair.hubPort)) }]"
            try await migration.change(to: allAtHub)
            try await migration.send(reaches: ["gcm"])
            try await migration.change(to: migration.pair.androidAtHub)
            try await migration.send(reaches: Migration.all)

            try await migration.change(to: migration.pair.classicAlone)
            try await migration.send(reaches: ["apns", "wns"])
            try await migration.open()
            try await migration.send(reaches: Migration.all)
        }
    }

    @Test("A device that changed its owner after the move leaves nothing behind for the former owner")
    func handedOver() async throws {
        try await migrate(sharing: false) { migration in
            try await migration.open()
            try await migration.change(to: migration.pair.androidAtHub)
            try await migration.open(as: "carol")
            try await migration.expectAgreement(
                of: "carol", at: migration.upstreams(fcm: migration.hub, others: migration.classic))
            try await migration.send(to: "carol", reaches: Migration.all)
            try await migration.send(reaches: [])
            // The way back before the device registers again reaches nobody, and not its former owner's tag.
            try await migration.change(to: migration.pair.classicAlone)
            try await migration.send(reaches: [])
        }
    }

    @Test("During the migration the operators' commands show and compare each upstream's own part")
    func commands() async throws {
        try await UpstreamPair.run { pair in
            try await ReloadingGateway.run(upstream: pair.androidAtHub) { gateway in
                let migration = try Migration(gateway, pair)
                try await migration.open()
                func run(_ arguments: String...) async throws -> Program.Outcome {
                    try await Program.run(arguments + ["--config", "gateway.yaml"], in: gateway.directory.path)
                }
                let places = [("gcm", "POST /demo/messages?"), ("apns", "POST /api/notifications?pns=apns")]
                for (platform, request) in places {
                    let explained = try await run(
                        "explain", "--user", "alice", "--body", "\"hi\"",
                        "POST /api/notifications?pns=\(platform)&to_tag=bob")
                    #expect(explained.status == 0 && explained.output.contains(request), "\(explained)")
                }
                // The hub lists the backend's registrations too, because both use it.
                try gateway.directory.write(
                    TestUpstream.connectionString(port: pair.hubPort, policy: "Full") + "\n", to: "manage.txt",
                    mode: 0o600)
                let compared = try await run(
                    "registrations", "reconcile", "--json", "--apply", "--connection-string", "manage.txt")
                #expect(compared.status == 0 && pair.hub.registrations().count == 3, "\(compared)")
                let reasons = compared.output.split(separator: "\n").map { $0.contains("other-backend") }
                #expect(reasons == [true, true], "\(compared)")
                let probed = try await run("probe")
                #expect(probed.output.contains("Listen") && probed.output.contains("V26"), "\(probed)")
                try await migration.send(reaches: Migration.all)
            }
        }
    }

    @Test("The hub's outage leaves the backend's platforms unharmed, and the other way round")
    func outage() async throws {
        try await UpstreamPair.run { pair in
            let dead = "http://127.0.0.1:1"
            let classicDown =
                "[{ platforms: [fcm], \(TestUpstream.hub.settings(port: pair.hubPort)) }, { url: \"\(dead)\" }]"
            let hubDown =
                "[{ platforms: [fcm], \(TestUpstream.hub.settings(port: 1)) }, "
                + "{ \(TestUpstream.classic.settings(port: pair.classicPort)) }]"
            try await ReloadingGateway.run(upstream: pair.androidAtHub) { gateway in
                let migration = try Migration(gateway, pair)
                try await migration.open()
                func statuses() async throws -> [String: Int] {
                    var all: [String: Int] = [:]
                    for platform in ["apns", "gcm"] {
                        // More calls than the circuit breaker needs to open.
                        for _ in 0..<12 {
                            all[platform] = try await migration.client.call(
                                "POST", "/api/notifications?pns=\(platform)&to_tag=bob", as: "alice", body: "\"x\""
                            ).status
                        }
                    }
                    return all
                }
                try await migration.change(to: classicDown)
                let first = try await statuses()
                #expect(first["gcm"] == 200 && first["apns"] ?? 0 >= 500)
                try await migration.change(to: hubDown)
                let second = try await statuses()
                #expect(second["apns"] == 200 && second["gcm"] ?? 0 >= 500)
            }
        }
    }
}
