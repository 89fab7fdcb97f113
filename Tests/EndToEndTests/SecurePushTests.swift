import Foundation
import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import NotifyBackend

@Suite("Secure push", .timeLimit(.minutes(5))) struct SecurePushTests {
    private static let secret = "the code is 4711, for nobody else"

    /// The calls of a client, with its credential and its own requests to fetch a text.
    private func client(_ kind: ClientRequests.Kind) -> ClientRequests {
        ClientRequests(
            kind: kind, host: "gateway.test", user: "bob", handle: "", recipient: "bob", message: Self.secret)
    }

    /// Returns the id in a push, read as the tutorial's client of the platform reads it.
    private func id(in payload: String, _ pns: String) throws -> String {
        if pns == "wns" { return payload }
        let object = try #require(JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any])
        let data = (object["message"] as? [String: Any])?["data"] as? [String: Any]
        let text = try #require((data ?? object)["secureId"] as? String)
        if pns == "apns" { #expect((object["aps"] as? [String: Any])?["content-available"] as? Int == 1) }
        // `intValue` of Objective-C.
        #expect(Int32(text).map { String($0) } == text)
        return text
    }

    @Test(
        "Through the embedded hub each platform gets an id alone, by which its owner reads the text",
        arguments: [
            "apns", "gcm", "wns",
        ])
    func embeddedHub(pns: String) async throws {
        let setup = try EmbeddedHubSetup(secure: SecureSendRules(senders: []))
        #expect(try await setup.register(pns, id: "1-2-3").status / 100 == 2)
        let sent = try await setup.call(
            "POST /api/notifications?pns=\(pns)&to_tag=bob&secure=true", as: "alice", "\"\(Self.secret)\"")
        #expect(sent.status == 200 && sent.body.isEmpty)
        let inbox = setup.hub.inbox(ofHandle: try #require(EmbeddedHubSetup.handles[pns]))
        let payload = try #require(inbox.last?.payload)
        #expect(inbox.count == 1 && !payload.contains("the code"))
        let id = try id(in: payload, pns)
        let fetched = try await setup.call("GET /api/notifications/\(id)", as: "bob")
        #expect(fetched.text == #"{"Id":\#(id),"Payload":"\#(Self.secret)","Read":false}"#)
        let foreign = try await setup.call("GET /api/notifications/\(id)", as: "alice")
        let unknown = try await setup.call("GET /api/notifications/1", as: "alice")
        #expect(foreign.status == 404 && foreign == unknown)
    }

    @Test("A response of the hub that is cut leaves the text for the recipient")
    func cut() async throws {
        let setup = try EmbeddedHubSetup(secure: SecureSendRules(senders: [.anyUser]))
        setup.fault.withLock { $0 = (0, .cut) }
        let sent = try await setup.call(
            "POST /api/notifications?pns=apns&to_tag=bob", as: "alice", "\"\(Self.secret)\"")
        #expect(sent.status == 502)
        let list = try await setup.call("GET /api/notifications", as: "bob")
        #expect(list.text.contains(#""id":"#))
    }

    private static let sections = """
        backend: { hub: embedded }
        sends: { secure: [bob], lifetime: 1h }
        log: { level: debug }
        """

    @Test("The tutorial's clients fetch a text; neither files nor log nor journal contain it; explain shows the send")
    func served() async throws {
        let directory = try TestFiles.ofGateway(Self.sections)
        let (log, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            // bob's sends are all secure. His clients fetch what he sent to himself.
            for kind in ClientRequests.Kind.allCases {
                let client = client(kind)
                #expect(try await gateway.client.send(client.send).status == 200)
                let list = try await gateway.client.call("GET", "/api/notifications", as: "bob")
                let id = try #require(list.text.firstMatch(of: /"id":(\d+)/)?.1)
                let fixture = try [UInt8](
                    Data(contentsOf: ClientFixtures.folder.appending(path: "\(kind.rawValue)-5-fetch.http")))
                #expect(
                    ClientRequests(
                        kind: kind, host: "notify.example", user: "alice", handle: "", recipient: "", message: ""
                    ).fetch(id: ClientFixtures.secureID) == fixture)
                #expect(try await gateway.client.send(fixture).status == 404)
                let fetched = try await gateway.client.send(client.fetch(id: String(id)))
                #expect(fetched.status == 200 && fetched.field("Content-Type") == "application/json")
                let object = try #require(
                    JSONSerialization.jsonObject(with: Data(fetched.body)) as? [String: Any])
                #expect(object["Payload"] as? String == Self.secret && object["Read"] as? Bool == false)
                #expect(object["Id"] as? Int == Int(id))
            }
            let explained = try await gateway.command(
                "explain", "--user", "bob", "--body", "\"\(Self.secret)\"",
                "POST /api/notifications?pns=apns&to_tag=alice")
            #expect(
                explained.output.contains("secure     yes: the push contains an id, no text"), "\(explained.output)")
            #expect(explained.output.contains(#"{"aps":{"content-available":1},"secureId":"{id}"}"#))
            let other = try await gateway.command(
                "explain", "--user", "alice", "--body", "\"x\"", "POST /api/notifications?pns=apns&to_tag=bob")
            #expect(!other.output.contains("secure "))
            return gateway.log
        }
        #expect(status == 0)
        let records = try GatewayUnderTest.journal(in: directory)
        let intents = records.filter { $0["action"] as? String == "send" && $0["kind"] as? String == "intent" }
        let fetches = records.filter {
            $0["action"] as? String == "notification-fetch" && $0["kind"] as? String == "intent"
        }
        #expect(intents.count == 3 && intents.allSatisfy { $0["secure"] as? Bool == true })
        #expect(intents.compactMap { $0["secure-id"] as? Int } == fetches.compactMap { $0["secure-id"] as? Int })
        #expect(fetches.allSatisfy { $0["user"] as? String == "bob" } && fetches.count == 3)
        #expect(!log.text.contains("the code is 4711"))
        for case let name as String in try #require(FileManager.default.enumerator(atPath: directory.path)) {
            guard let bytes = FileManager.default.contents(atPath: "\(directory.path)/\(name)") else { continue }
            #expect(bytes.range(of: Data("the code is 4711".utf8)) == nil, "\(name)")
        }
        let listed = try await directory.command("audit", "list", "--records", "--csv")
        #expect(listed.output.contains(",fence,secure,secure-id,limit,"))
    }

    @Test("A backup is restored with its key; with another key the start and check say so, and nothing is served")
    func restored() async throws {
        let directory = try TestFiles.ofGateway(Self.sections)
        let copies = "\(directory.path)/copies"
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: false)
        let (id, _) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.send(client(.ios).send).status == 200)
            let backup = try await gateway.command("backup", copies)
            #expect(backup.status == 0, "\(backup)")
            let list = try await gateway.client.call("GET", "/api/notifications", as: "bob")
            return String(try #require(list.text.firstMatch(of: /"id":(\d+)/)?.1))
        }
        func restore() async throws {
            for suffix in ["", ".key", ".digest.key", ".texts", ".texts.key", ".state"] {
                let target = "\(directory.path)/ledger.sqlite\(suffix)"
                for leftover in [target, target + "-wal", target + "-shm"] {
                    try? FileManager.default.removeItem(atPath: leftover)
                }
            }
            let restored = try await directory.command("restore", copies)
            #expect(restored.status == 0, "\(restored)")
        }
        try await restore()
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.send(client(.ios).fetch(id: id)).status == 200)
            #expect(!gateway.log.text.contains("another key"))
        }
        #expect(try await !directory.command("check").output.contains("another key"))

        try await restore()
        try Data(repeating: 9, count: 32).write(to: URL(filePath: "\(directory.path)/ledger.sqlite.texts.key"))
        let check = try await directory.command("check")
        #expect("\(check)".contains("were sealed under another key"), "\(check)")
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            await gateway.log.contains("were sealed under another key")
            #expect(try await gateway.client.send(client(.ios).fetch(id: id)).status == 404)
            #expect(
                try await gateway.client.call("GET", "/api/notifications", as: "bob").text == #"{"notifications":[]}"#)
        }
    }

    @Test("A gateway that is killed while the push leaves has the record, and the text for the recipient")
    func killed() async throws {
        let arrived = Signal()
        let never = Signal()
        try await ScriptedServer.run { request in
            guard String(decoding: request.body, as: UTF8.self).contains("secureId") else {
                return [.write(ScriptedServer.ok(""))]
            }
            arrived.raise()
            return [.wait(never)]
        } _: { server in
            let directory = try TestFiles.ofGateway(
                """
                backend: { \(TestUpstream.hub.settings(port: server.port)) }
                sends: { secure: all }
                """)
            _ = try await ServedProgram.run(in: directory) { gateway async throws in
                async let sent = try? gateway.client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: "\"\(Self.secret)\"")
                await arrived.wait()
                gateway.kill()
                _ = await sent
            }
            _ = try await ServedProgram.run(in: directory) { gateway async throws in
                let list = try await gateway.client.call("GET", "/api/notifications", as: "bob")
                let id = try #require(list.text.firstMatch(of: /"id":(\d+)/)?.1)
                let fetched = try await gateway.client.call("GET", "/api/notifications/\(id)", as: "bob")
                #expect(fetched.text.contains(Self.secret))
                let sends = try gateway.journalRecords().filter { $0["action"] as? String == "send" }
                #expect(sends.map { $0["kind"] as? String } == ["intent", "outcome"])
                #expect(sends.allSatisfy { $0["secure-id"] as? Int == Int(id) })
                #expect(sends.last?["result"] as? String == "unknown-after-crash")
            }
            never.raise()
        }
    }

    @Test("Secure sends need a restart to begin, and their bounds change by a reload")
    func reload() async throws {
        let directory = try TestFiles.ofGateway("backend: { hub: embedded }")
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.call("GET", "/api/notifications/1", as: "bob").status == 404)
            #expect(try await gateway.client.call("GET", "/api/notifications", as: "bob").status == 405)
            try directory.configure(Self.sections)
            let reload = try await gateway.command("reload")
            #expect(reload.status == 1 && reload.output.contains("sends: needs a restart"), "\(reload)")
        }
        #expect(status == 0)
        try directory.configure(Self.sections)
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.send(client(.ios).send).status == 200)
            try directory.configure(
                Self.sections.replacing("lifetime: 1h", with: "texts-per-user: 1") + "\ndrain: { grace: 0s }")
            let reload = try await gateway.command("reload")
            #expect(reload.status == 0, "\(reload)")
            let full = try await gateway.client.send(client(.ios).send)
            #expect(full.status == 507 && full.problem == "texts-full")
        }
    }
}

extension ServedProgram {
    /// Returns the records of the journal.
    fileprivate func journalRecords() throws -> [[String: Any]] { try GatewayUnderTest.journal(in: directory) }
}
