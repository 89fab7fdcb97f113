import Foundation
import GatewayTesting
import Logging
import Testing

@testable import NotifyBackend

@Suite("The reconciliation with a hub") struct HubReconciliationTests {
    /// A gateway, its hub, and the hub's port.
    private struct Fixture {
        let gateway: GatewayUnderTest
        let hub: NotificationHub
        let port: Int

        /// Runs the command and returns its listed results by registration id: finding, reason, result.
        func reconcile(
            _ more: String..., policy: String = "Full"
        ) async throws -> (outcome: Program.Outcome, listed: [String: String]) {
            try gateway.directory.write(
                TestUpstream.connectionString(port: port, policy: policy) + "\n", to: "manage.txt", mode: 0o600)
            try gateway.directory.write("control: control.sock\n", to: "control.yaml")
            let outcome = try await Program.run(
                [
                    "registrations", "reconcile", "--connection-string", "manage.txt", "--json", "--config",
                    "control.yaml",
                ] + more, in: gateway.directory.path)
            var listed: [String: String] = [:]
            for line in outcome.output.split(separator: "\n") {
                let item = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
                listed[item?["registration"] ?? "-"] = [item?["finding"], item?["reason"], item?["result"]]
                    .compactMap(\.self).joined(separator: " ")
            }
            return (outcome, listed)
        }

        /// Registers the user's device through the gateway. Returns its registration's id.
        func register(_ user: String, _ handle: String) async throws -> String {
            #expect(try await gateway.client.register(user, "apns", handle).status == 200)
            return try #require(hub.registrations().first { $0.handle == handle }?.id)
        }

        /// The ids that the ledger has, each with its owner and state.
        func ledger() async throws -> [String: String] {
            let list = try await Program.run(
                ["registrations", "list", "--json", "--config", "control.yaml"], in: gateway.directory.path)
            var owners: [String: String] = [:]
            for line in list.output.split(separator: "\n") {
                let item = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                owners[item?["registration"] as? String ?? "-"] = "\(item?["user"] ?? "-") \(item?["state"] ?? "-")"
            }
            return owners
        }

        /// Waits until the gateway has deleted as many registrations.
        func awaitDeletions(_ count: Int) async throws {
            _ = try await JournalChanges(in: gateway.directory).first {
                let ended = try gateway.journal().count {
                    $0["action"] as? String == "register-delete" && $0["kind"] as? String == "outcome"
                }
                return ended >= count ? ended : nil
            }
        }
    }

    private func run(_ body: (Fixture) async throws -> Void) async throws {
        let hub = NotificationHub(limits: HubLimits(registrations: 30_000))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await ServiceRunner.run { started in
            try await EmbeddedBackend(
                access: TestUpstream.access, hub: hub, logger: logger, onListening: { started($0) }
            ).run()
        } whileRunning: { (port: Int) in
            try await GatewayUnderTest.run(.hub, at: port, hub: hub) { gateway in
                try await body(Fixture(gateway: gateway, hub: hub, port: port))
            }
        }
    }

    private func handle(_ number: Int) -> String { String(format: "%064X", number) }

    @Test("After a reload with another hub, the reconciliation asks that one")
    func otherHub() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        func serve(_ hub: NotificationHub, _ body: (Int) async throws -> Void) async throws {
            try await ServiceRunner.run { started in
                try await EmbeddedBackend(
                    access: TestUpstream.access, hub: hub, logger: logger, onListening: { started($0) }
                ).run()
            } whileRunning: { (port: Int) in
                try await body(port)
            }
        }
        try await serve(NotificationHub(limits: HubLimits(registrations: 100))) { former in
            try await serve(NotificationHub(limits: HubLimits(registrations: 100))) { present in
                func settings(_ port: Int) -> String { "{ \(TestUpstream.hub.settings(port: port)) }" }
                try await ReloadingGateway.run(upstream: settings(former)) { gateway in
                    try gateway.write(upstream: settings(present))
                    #expect(try await gateway.reload().isTaken)
                    for (port, status) in [(present, 0 as Int32), (former, 1)] {
                        try gateway.directory.write(
                            TestUpstream.connectionString(port: port, policy: "Full") + "\n", to: "manage.txt",
                            mode: 0o600)
                        let outcome = try await gateway.directory.command(
                            "registrations", "reconcile", "--connection-string", "manage.txt")
                        #expect(outcome.status == status, "\(port) of \(present): \(outcome)")
                    }
                }
            }
        }
    }

    @Test("Each difference is listed, and repaired only with --apply; then hub and ledger agree")
    func differences() async throws {
        try await run { fixture in
            let hub = fixture.hub
            let alices = try await fixture.register("alice", handle(1))
            let bobs = try await fixture.register("bob", handle(2))
            let carols = try await fixture.register("carol", handle(3))
            let eves = try await fixture.register("eve", handle(4))
            try hub.delete(id: bobs)
            try hub.upsert(id: carols, platform: "apns", handle: handle(3), tags: ["username:eve"])
            try hub.upsert(id: eves, platform: "apns", handle: handle(9), tags: ["username:eve"])
            try hub.upsert(id: "1-1-1", platform: "apns", handle: handle(5), tags: ["username:dave", "news"])
            try hub.upsert(id: "2-2-2", platform: "apns", handle: handle(6), tags: ["username:dave", "from:alice"])
            try hub.upsert(id: "3-3-3", platform: "apns", handle: handle(7), tags: ["username:dave", "username:bob"])
            // Two beside the one that the gateway registered.
            try hub.upsert(id: "4-4-4", platform: "apns", handle: handle(1), tags: ["username:alice"])
            try hub.upsert(id: "5-5-5", platform: "apns", handle: handle(1), tags: ["username:dave"])
            let before = hub.registrations()

            hub.inject(.listBusy)
            let list = try await fixture.reconcile()
            #expect(list.outcome.status == 0, "\(list)")
            #expect(
                list.listed == [
                    bobs: "missing listed", carols: "differing other-user listed",
                    eves: "differing other-handle listed", "1-1-1": "unrecorded listed",
                    "2-2-2": "unrecorded from-tag listed",
                    "3-3-3": "unrecorded several-users listed", "4-4-4": "unrecorded registered-anew listed",
                    "5-5-5": "unrecorded registered-anew listed",
                ])
            #expect(list.outcome.errors.contains("equal 1, in-progress 0, different 8"), "\(list)")
            #expect(hub.registrations() == before)
            #expect(try !fixture.gateway.journal().contains { $0["action"] as? String == "operator-reconcile" })

            let tooMany = try await fixture.reconcile("--apply")
            #expect(tooMany.outcome.status == 1, "\(tooMany)")
            #expect(tooMany.outcome.errors.contains("7 of 9 registrations would be deleted"), "\(tooMany)")
            #expect(hub.registrations() == before)

            let repair = try await fixture.reconcile("--apply", "--all")
            #expect(
                repair.listed == [
                    bobs: "missing dropped", carols: "differing other-user dropped",
                    eves: "differing other-handle dropped", "1-1-1": "unrecorded bound",
                    "2-2-2": "unrecorded from-tag purged", "3-3-3": "unrecorded several-users purged",
                    "4-4-4": "unrecorded registered-anew purged", "5-5-5": "unrecorded registered-anew purged",
                ], "\(repair)")
            try await fixture.awaitDeletions(7)
            #expect(Set(hub.registrations().map(\.id)) == [alices, "1-1-1"])
            #expect(try await fixture.ledger() == [alices: "alice live", "1-1-1": "dave unconfirmed"])
            let records = try fixture.gateway.journal()
            #expect(records.count { $0["action"] as? String == "operator-reconcile" } == 1)
            let rules = records.filter { $0["registration"] as? String == carols }.map { $0["rule"] as? String }
            #expect(rules.contains("differing"))

            let again = try await fixture.reconcile("--apply")
            #expect(again.outcome.status == 0 && again.listed.isEmpty, "\(again)")
            #expect(again.outcome.errors.contains("equal 2, in-progress 0, bound 0"), "\(again)")
            // The devices whose registrations were dropped register again.
            #expect(try await fixture.register("bob", handle(2)) != alices)
            _ = try await fixture.register("carol", handle(3))
        }
    }

    @Test("What may belong to another app is only deleted by its name, after a confirmation")
    func foreignKinds() async throws {
        try await run { fixture in
            let hub = fixture.hub
            let alices = try await fixture.register("alice", handle(1))
            for number in 10..<30 {
                try hub.upsert(id: "1-1-\(number)", platform: "apns", handle: handle(number), tags: ["username:dave"])
            }
            let installation = ["username:dave", "$InstallationId:{2f0c1d00-1111-2222-3333-444455556666}"]
            try hub.upsert(id: "2-2-2", platform: "apns", handle: handle(2), tags: installation)
            try hub.upsert(id: "3-3-3", platform: "apns", handle: handle(3), tags: [])
            try hub.upsert(id: "4-4-4", platform: "apns", handle: handle(4), tags: ["username:Dave"])
            try hub.upsert(id: "5-5-5", platform: "gcm", handle: "|ID|1|:APA91bHun4MxP5eg", tags: ["username:dave"])
            let first = try await fixture.reconcile("--apply")
            #expect(first.outcome.status == 0, "\(first)")
            #expect(first.listed["2-2-2"] == "unrecorded installation skipped")
            #expect(first.listed["3-3-3"] == "unrecorded no-user skipped")
            #expect(first.listed["4-4-4"] == "unrecorded user-spelling skipped")
            #expect(first.listed["5-5-5"] == "unrecorded handle-unusable skipped")
            #expect(hub.registrations().count == 25)

            let asked = try await fixture.reconcile("--apply", "--delete", "no-user,installations")
            #expect(asked.outcome.status == 1 && asked.listed.isEmpty, "\(asked)")
            #expect(asked.outcome.errors.contains("2 of 25 registrations would be deleted (1 installation, 1 no-user)"))
            #expect(hub.registrations().count == 25)

            let adopted = try await fixture.reconcile("--apply", "--adopt-installations")
            #expect(adopted.listed["2-2-2"] == "unrecorded bound", "\(adopted)")
            // An adopted installation is as it should be, also for a run that does not adopt.
            let again = try await fixture.reconcile("--apply", "--delete", "no-user,installations", "--yes")
            #expect(again.outcome.status == 0 && again.listed["2-2-2"] == nil, "\(again)")
            #expect(again.listed["3-3-3"] == "unrecorded no-user purged", "\(again)")
            try await fixture.awaitDeletions(1)
            #expect(!hub.registrations().contains { $0.id == "3-3-3" } && hub.registrations().count == 24)
            #expect(try await fixture.ledger()[alices] == "alice live")
        }
    }

    @Test("A key without the right Manage, one of another hub, and text that is no connection string are rejected")
    func credentials() async throws {
        try await run { fixture in
            let listen = try await fixture.reconcile("--apply", policy: "ListenSend")
            #expect(listen.outcome.status == 1 && listen.outcome.errors.contains("needs the right Manage"), "\(listen)")
            let unknown = try await fixture.reconcile("--apply", policy: "Nobody")
            #expect(unknown.outcome.status == 1 && unknown.outcome.errors.contains("needs the right Manage"))
            for (text, message) in [
                (
                    "Endpoint=sb://other.servicebus.windows.net/;SharedAccessKeyName=F;SharedAccessKey=0123456789abcdef",
                    "but the configured hub is at"
                ),
                ("secret", "the connection string has a part other"),
            ] {
                try fixture.gateway.directory.write(text, to: "bad.txt", mode: 0o600)
                let outcome = try await Program.run(
                    [
                        "registrations", "reconcile", "--apply", "--connection-string", "bad.txt", "--config",
                        "control.yaml",
                    ], in: fixture.gateway.directory.path)
                #expect(outcome.status == 1 && outcome.errors.contains(message), "\(outcome)")
            }
            #expect(try !fixture.gateway.journal().contains { $0["action"] as? String == "operator-reconcile" })
        }
    }

    @Test("Thousands of old registrations are reconciled while devices register, and none of those is lost")
    func manyRegistrations() async throws {
        let count = TestRun.count(full: 20_000, otherwise: 2000)
        try await run { fixture in
            for number in 0..<count {
                let tags =
                    switch number % 20 {
                    case 0: ["username:u\(number)", "from:boss"]
                    case 1: ["username:u\(number)", "username:boss"]
                    default: ["username:u\(number)"]
                    }
                try fixture.hub.upsert(
                    id: "\(number)-7-1", platform: "apns", handle: handle(1_000_000 + number), tags: tags)
            }
            async let repair = fixture.reconcile("--apply")
            var devices: [String] = []
            for number in 0..<40 { devices.append(try await fixture.register("alice", handle(100 + number % 8))) }
            let (outcome, listed) = try await repair
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(listed.values.count { $0.hasSuffix("bound") } == count * 9 / 10)
            #expect(listed.values.count { $0.hasSuffix("purged") } == count / 10)
            try await fixture.awaitDeletions(count / 10)
            let ledger = try await fixture.ledger()
            #expect(Set(ledger.keys) == Set(fixture.hub.registrations().map(\.id)))
            #expect(Set(devices).allSatisfy { ledger[$0] == "alice live" })
            #expect(ledger.count == count * 9 / 10 + 8)
        }
    }
}
