import Foundation
import GatewaySupport
import GatewayTesting
import Logging
import NotifyBackend
import Testing

@Suite("The rights of a hub's key") struct HubProbeTests {
    private static let key = "a2V5LW9mLTMyLWJ5dGVzLWxvbmctLi4uLi4uLi4uLi4="

    /// Runs the body with a hub whose key has the rights, and a directory with the configuration of a gateway for it.
    private func run(
        _ rights: Set<HubAccess.Right>, hub name: String = "demo", key: String = key,
        _ body: (TestFiles, NotificationHub) async throws -> Void
    ) async throws {
        let hub = NotificationHub()
        let access = HubAccess(
            hub: "demo", policies: [.init(name: "TheKey", key: Secret(Self.key.utf8), rights: rights)])
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await ServiceRunner.run { started in
            try await EmbeddedBackend(access: access, hub: hub, logger: logger, onListening: { started($0) }).run()
        } whileRunning: { (port: Int) in
            let directory = try TestFiles()
            try directory.write(GatewayUnderTest.users, to: "users.yaml", mode: 0o600)
            try directory.write(
                """
                listen: [{ address: "127.0.0.1:0" }]
                admin: { address: "127.0.0.1:0" }
                backend:
                  hub:
                    name: \(name)
                    connection-string: >-
                      Endpoint=sb://127.0.0.1:\(port)/;SharedAccessKeyName=TheKey;SharedAccessKey=\(key)
                authenticators: [{ static-users: { file: users.yaml } }]
                policy: { send: [{ from: "*", to: "*" }] }
                journal: { directory: journal }
                ledger: { file: ledger.sqlite }
                """, to: "gateway.yaml", mode: 0o600)
            try await body(directory, hub)
        }
    }

    private func probe(_ directory: TestFiles) async throws -> (outcome: Program.Outcome, rights: [String: String]) {
        let outcome = try await Program.run(["probe", "--json", "--config", "gateway.yaml"], in: directory.path)
        let items = try outcome.output.split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: String]
        }
        return (outcome, Dictionary(items.map { ($0["right"] ?? "", $0["key"] ?? "") }) { first, _ in first })
    }

    @Test(
        "probe reports the rights of the key and changes nothing at the hub",
        arguments: [[.listen, .send], [.listen], [.send], [.manage]] as [Set<HubAccess.Right>])
    func rights(_ rights: Set<HubAccess.Right>) async throws {
        try await run(rights) { directory, hub in
            let (outcome, found) = try await probe(directory)
            for right in HubAccess.Right.allCases {
                let holds = rights.contains(right) || rights.contains(.manage)
                #expect(found[right.rawValue] == (holds ? "yes" : "no"), "\(outcome)")
            }
            #expect(outcome.status == (rights.count == 1 && rights != [.manage] ? 1 : 0), "\(outcome)")
            #expect(outcome.errors.contains("TheKey has the right Manage") == (rights == [.manage]), "\(outcome)")
            #expect(hub.registrations().isEmpty)
            #expect(!outcome.errors.contains(Self.key))
        }
    }

    @Test("probe reports a rejected key, a hub that does not exist, and one that cannot be reached")
    func unusable() async throws {
        try await run([.listen, .send], key: "YW5vdGhlci1rZXktMDEyMzQ1Njc4OQ==") { directory, _ in
            let (outcome, found) = try await probe(directory)
            #expect(found == ["Listen": "no", "Send": "no", "Manage": "no"])
            #expect(outcome.status == 1 && outcome.errors.contains("The hub rejects the key TheKey"), "\(outcome)")
        }
        var stopped: TestFiles?
        try await run([.listen, .send], hub: "other") { directory, _ in
            let outcome = try await probe(directory).outcome
            #expect(outcome.status > 1, "\(outcome)")
            #expect(outcome.errors.contains("the namespace has no hub with the name other"), "\(outcome)")
            stopped = directory
        }
        let outcome = try await probe(try #require(stopped)).outcome
        #expect(outcome.status > 1 && outcome.errors.contains("The hub cannot be tested"), "\(outcome)")
    }

    @Test("The start logs a missing right and an unneeded one, and serves")
    func start() async throws {
        for (rights, message) in [
            ([.manage], "has the right Manage"), ([.send], "no device can be registered"),
        ] as [(Set<HubAccess.Right>, String)] {
            try await run(rights) { directory, _ in
                let status = try await ServedProgram.run(in: directory) { await $0.log.contains(message) }.status
                #expect(status == 0)
            }
        }
    }

    @Test("With a key that has Listen alone, devices register, and sends fail and reach nobody")
    func listenAlone() async throws {
        let hub = NotificationHub()
        let key = try #require(TestUpstream.access.policies.first?.key)
        let access = HubAccess(hub: "demo", policies: [.init(name: "ListenSend", key: key, rights: [.listen])])
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let handle = String(repeating: "A1", count: 32)
        try await ServiceRunner.run { started in
            try await EmbeddedBackend(access: access, hub: hub, logger: logger, onListening: { started($0) }).run()
        } whileRunning: { (port: Int) in
            try await GatewayUnderTest.run(.hub, at: port, hub: hub) { gateway in
                #expect(try await gateway.client.register("bob", "apns", handle).status == 200)
                let sent = try await gateway.client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""hi""#)
                #expect(sent.status == 502)
            }
        }
        #expect(hub.registrations().map(\.tags) == [["username:bob"]] && hub.inbox(ofHandle: handle).isEmpty)
    }
}
