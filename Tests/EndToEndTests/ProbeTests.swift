import Foundation
import Gateway
import GatewayCore
import GatewayHTTP
import GatewaySupport
import GatewayTesting
import Logging
import NIOCore
import NotifyBackend
import Testing

@testable import GatewayOperations
@testable import GatewayServer

@Suite("The probe command") struct ProbeTests {
    private static func profile(_ flavor: BackendFlavor) -> BackendProfile {
        switch flavor {
        case .classic: BackendProfile(.classic)
        case .core: BackendProfile(.core)
        case .net6: BackendProfile(.net6)
        }
    }

    /// The vulnerabilities that the probe does not test at a backend that may be in use.
    private static let untried: Set<ProbeVulnerability> = [.v10, .v12, .v13, .v20, .v21]

    @Test(
        "The probe finds the vulnerabilities of a backend without affecting other users",
        arguments: BackendFlavor.allCases)
    func harmless(flavor: BackendFlavor) async throws {
        let hub = NotificationHub()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await ServiceRunner.run { started in
            try await EmbeddedBackend(flavor: flavor, hub: hub, logger: logger, onListening: { started($0) }).run()
        } whileRunning: { (port: Int) in
            let foreign = String(repeating: "B0", count: 32)
            #expect(try await RawClient(port: port).registerDirectly("bob", flavor, foreign, id: "7-7-7").status == 200)
            let before = hub.registrations()
            let target = ProbeTarget(
                address: .tcp(host: "127.0.0.1", port: port), host: "backend.test",
                profile: Self.profile(flavor).backend,
                credential: .mirror, users: ("probe-own", "probe-other"), inbox: nil)
            var probe = Probe(target)
            let findings = try await probe.run()
            #expect(findings.map(\.vulnerability) == ProbeVulnerability.allCases)
            #expect(Set(findings.filter { $0.state == .notTried }.map(\.vulnerability)) == Self.untried)
            let open = Set(findings.filter { $0.state == .open }.map(\.vulnerability))
            #expect(open.isSuperset(of: [.v1, .v2, .v4, .v5, .v6, .v7, .v8, .v9, .v11, .v14, .v15, .v17, .v19, .v26]))
            #expect(open.contains(.v16) == (flavor == .classic))
            #expect(await probe.session.cleanUp().isEmpty)
            #expect(hub.registrations() == before)
            #expect(hub.inbox(ofHandle: foreign).isEmpty)
            Self.expectHarmless(probe.session.client.exchanges, profile: target.profile)
        }
    }

    /// Compares each request with the requests that the probe is allowed to send.
    private static func expectHarmless(
        _ exchanges: [(request: ProbeClient.Request, answer: BackendResponse?)], profile: BackendProfile.BackendSide
    ) {
        var given: Set<String> = []
        for (request, answer) in exchanges {
            let parts = request.target.split(separator: "?", maxSplits: 1).map(String.init)
            let query = Dictionary(
                (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
                    let pair = pair.split(separator: "=", maxSplits: 1).map(String.init)
                    return (pair[0], pair.count > 1 ? pair[1].removingPercentEncoding ?? "" : "")
                }
            ) { first, _ in first }
            switch request.method {
            case "POST" where parts[0] == profile.registerPath:
                // The device handle is absent or one of the probe's own: 256 random bits without a quotation mark.
                #expect(query["handle"].map(Self.isOwnHandle) ?? true, "\(request)")
                if let answer, answer.status == 200 {
                    given.insert(String(buffer: answer.body).filter { $0.isNumber || $0 == "-" })
                }
            case "POST":
                #expect(parts[0] == profile.notificationsPath)
                // The only recipient is the probe's own user, even if it is named several times.
                let names = (query["to_tag"] ?? "probe-own").components(separatedBy: "||username:")
                #expect(names.allSatisfy { $0 == "probe-own" }, "\(request)")
            case "PUT", "DELETE":
                let id = query["id"] ?? String(parts[0].dropFirst(profile.registerPath.count + 1))
                #expect(given.contains(id), "\(request)")
                guard request.method == "PUT" else { break }
                let body = try? JSONSerialization.jsonObject(with: Data((request.body ?? "").utf8)) as? [String: Any]
                #expect((body?["Handle"] as? String).map(Self.isOwnHandle) == true, "\(request)")
                let tags = body?["Tags"] as? [String] ?? ["?"]
                let own = ["from:probe-own", "username:probe-other", "x,username:probe-other", "$UserId:{probe-other}"]
                #expect(tags.allSatisfy(own.contains), "\(request)")
            default:
                #expect(request.method == "GET" && (request.body ?? "").isEmpty, "\(request)")
            }
            for field in request.fields {
                let credential = field.split(separator: " ").last.flatMap { Data(base64Encoded: String($0)) } ?? Data()
                let user = String(decoding: credential, as: UTF8.self).split(separator: ":").first ?? ""
                #expect(user.isEmpty || user.hasPrefix("probe-"), "\(request)")
            }
        }
        #expect(exchanges.count > 30)
    }

    private static func isOwnHandle(_ text: String) -> Bool {
        text.wholeMatch(of: /[0-9A-F]{64}/) != nil
    }

    @Test(
        "The gateway mitigates each vulnerability that the probe tests",
        arguments: BackendFlavor.allCases)
    func closed(flavor: BackendFlavor) async throws {
        try await GatewayUnderTest.run(TestUpstream(flavor)) { gateway in
            let foreign = String(repeating: "B0", count: 32)
            #expect(try await gateway.client.register("bob", "apns", foreign).status == 200)
            var profile = Self.profile(flavor).backend
            profile.idLocation = .path
            let target = ProbeTarget(
                address: .tcp(host: "127.0.0.1", port: gateway.client.port ?? 0), host: "gateway.test",
                profile: profile,
                credential: .mirror, users: ("alice", "eve"),
                inbox: { handle in gateway.hub.inbox(ofHandle: handle).map(\.payload) })
            var probe = Probe(target)
            var findings = try await probe.run()
            #expect(await probe.session.cleanUp().isEmpty)
            for finding in try await EmbeddedBackendProbe(testing: target).run() {
                findings[finding.vulnerability.rawValue - 1] = finding
            }
            for finding in findings where finding.vulnerability != .v20 && finding.vulnerability != .v21 {
                #expect(finding.state == .closed, "\(finding)")
            }
            #expect(gateway.hub.registrations().contains { $0.handle == foreign })
            #expect(gateway.hub.inbox(ofHandle: foreign).isEmpty)
        }
    }

    private func configuration(_ backend: String, more: String = "") throws -> TestFiles {
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try directory.write(
            """
            backend: { \(backend) }
            authenticators: [{ static-users: { file: users.yaml } }]
            policy: { send: [{ from: "*", to: "*" }] }
            journal: { directory: journal }
            ledger: { file: ledger.sqlite\(more) }
            """, to: "gateway.yaml")
        return directory
    }

    private func probe(_ directory: TestFiles) async throws -> (Program.Outcome, [String: [String: String]]) {
        let outcome = try await Program.run(["probe", "--json", "--config", "gateway.yaml"], in: directory.path)
        let items = try outcome.output.split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: String]
        }
        return (outcome, Dictionary(items.map { ($0["vulnerability"] ?? "", $0) }) { first, _ in first })
    }

    @Test("The probe tests each vulnerability at the embedded backend", arguments: BackendFlavor.allCases)
    func embedded(flavor: BackendFlavor) async throws {
        let (outcome, items) = try await probe(configuration("url: embedded, profile: \(flavor.rawValue)"))
        #expect(outcome.status == 0, "\(outcome)")
        #expect(items.count == 26 && items.values.allSatisfy { $0["gateway"] == "closed" })
        for vulnerability in ["V1", "V2", "V9", "V10", "V12"] {
            #expect(items[vulnerability]?["backend"] == "open", "\(vulnerability) \(items)")
        }
        #expect((items["V13"]?["backend"] == "open") == (flavor != .net6))
        #expect(items["V18"]?["backend"] == (flavor == .classic ? "open" : "closed"))
        #expect(!FileManager.default.fileExists(atPath: outcome.output + "/ledger.sqlite"))
    }

    @Test("The probe skips harmful tests at other backends and reports what the gateway does not mitigate")
    func configured() async throws {
        let hub = NotificationHub()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await ServiceRunner.run { started in
            try await EmbeddedBackend(flavor: .classic, hub: hub, logger: logger, onListening: { started($0) }).run()
        } whileRunning: { (port: Int) in
            let url = "url: \"http://127.0.0.1:\(port)\""
            let (unclean, items) = try await probe(configuration(url))
            #expect(unclean.status == 1)
            #expect(unclean.errors.contains("V5: registrations from before the gateway were not imported"))
            #expect(unclean.errors.contains("reached without the gateway"))
            for vulnerability in ["V10", "V12", "V13"] {
                #expect(
                    items[vulnerability]?["backend"] == "not-tried"
                        && items[vulnerability]?["evidence"]?.isEmpty == false)
            }
            let (clean, _) = try await probe(configuration(url, more: ", migrated: true"))
            #expect(clean.status == 0, "\(clean)")
            #expect(hub.registrations().isEmpty)
        }
        let port = try await ScriptedServer.run({ _ in [] }, { $0.port })
        let (gone, _) = try await probe(configuration("url: \"http://127.0.0.1:\(port)\""))
        #expect(gone.status == 69 && gone.output.isEmpty)
    }
}
