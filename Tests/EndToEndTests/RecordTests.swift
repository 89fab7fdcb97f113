import Foundation
import GatewaySupport
import GatewayTesting
import NotifyBackend
import Synchronization
import Testing

@Suite("Journal records of calls")
struct RecordTests {
    private static let accepted = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    private static let send = "/api/notifications?pns=apns&to_tag=bob"

    @Test(
        "The journal contains a send's intent before the backend receives it, and its outcome afterwards"
    )
    func intentBeforeEffect() async throws {
        let directory = Mutex<TestFiles?>(nil)
        let atBackend = Mutex<[[String: String]]>([])
        try await ScriptedServer.run { _ in
            // The content of the journal file when the backend receives the request.
            let records = directory.withLock { $0 }.flatMap { try? GatewayUnderTest.journal(in: $0) } ?? []
            atBackend.withLock { $0 = records.map { $0.compactMapValues { $0 as? String } } }
            return [.write(Self.accepted)]
        } _: { backend in
            try await GatewayUnderTest.run(
                backend: "http://127.0.0.1:\(backend.port)", policy: #"policy: { send: [{ from: alice, to: bob }] }"#
            ) { gateway in
                directory.withLock { $0 = gateway.directory }
                let sent = try await gateway.client.call("POST", Self.send, as: "alice", body: #""secret text""#)
                #expect(sent.status == 200)
                let intents = atBackend.withLock { $0 }.filter { $0["kind"] == "intent" }
                #expect(intents.count == 1)
                #expect(intents.first?["user"] == "alice")
                #expect(intents.first?["recipient"] == "bob")
                #expect(intents.first?["call"] == sent.field("X-Request-Id"))
                #expect(intents.first?["rule"] == "send[0]")

                let refused = try await gateway.client.call("POST", Self.send, as: "eve", body: #""x""#)
                #expect(refused.problem == "send-not-allowed")
                #expect(try await gateway.client.call("POST", Self.send, body: #""x""#).status == 401)
                let records = try await Self.completed(gateway, count: 3)
                let outcome = try #require(records.first { $0["kind"] as? String == "outcome" })
                #expect(outcome["call"] as? String == sent.field("X-Request-Id"))
                #expect(outcome["result"] as? String == "accepted")
                #expect(outcome["status"] as? Int == 200)
                let rejections = records.filter { $0["kind"] as? String == "refusal" }
                #expect(rejections.map { $0["user"] as? String } == ["eve"])
                #expect(rejections.first?["result"] as? String == "send-not-allowed")
                let text = try String(
                    contentsOfFile: #require(Self.segments(of: gateway.directory).first), encoding: .utf8)
                #expect(!text.contains("secret text"))
            }
        }
    }

    @Test(
        "A truncated response of the backend is a 502 response, a missing one a 504 response, and both have an outcome")
    func brokenBackends() async throws {
        let scripts = Mutex<[[ScriptedServer.Step]]>([
            [.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .close], [], [.write(Self.accepted)],
        ])
        try await ScriptedServer.run { _ in
            scripts.withLock { $0.isEmpty ? [.write(Self.accepted)] : $0.removeFirst() }
        } _: { backend in
            try await GatewayUnderTest.run(backend: "http://127.0.0.1:\(backend.port)", timeout: "300ms") { gateway in
                let cut = try await gateway.client.call("POST", Self.send, as: "alice", body: #""x""#)
                #expect(cut.status == 502)
                #expect(cut.problem == "backend-failed")
                let silent = try await gateway.client.call("POST", Self.send, as: "alice", body: #""x""#)
                #expect(silent.status == 504)
                #expect(silent.problem == "backend-timed-out")
                // The gateway serves the next call, and has sent no request twice.
                #expect(try await gateway.client.call("POST", Self.send, as: "alice", body: #""x""#).status == 200)
                #expect(backend.seen.count == 3)
                let outcomes = try await Self.completed(gateway, count: 6).filter { $0["kind"] as? String == "outcome" }
                #expect(
                    outcomes.map { $0["result"] as? String } == ["backend-failed", "backend-timed-out", "accepted"])
            }
        }
    }

    @Test("An unreachable backend is a 502 response")
    func unreachableBackend() async throws {
        // The port was free a moment ago.
        let port = try await ScriptedServer.run({ _ in [] }, { $0.port })
        try await GatewayUnderTest.run(backend: "http://127.0.0.1:\(port)") { gateway in
            let answer = try await gateway.client.call("POST", Self.send, as: "alice", body: #""x""#)
            #expect(answer.status == 502)
            #expect(answer.problem == "backend-unreachable")
        }
    }

    private static func segments(of directory: TestFiles) throws -> [String] {
        let folder = directory.path + "/journal"
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".jsonl") }
            .map { "\(folder)/\($0)" }
    }

    /// Returns the records of calls when the count is reached. Waits, because the gateway writes outcomes
    /// asynchronously.
    private static func completed(_ gateway: GatewayUnderTest, count: Int) async throws -> [[String: Any]] {
        try await JournalChanges(in: gateway.directory).first {
            let records = try gateway.journal().filter { $0["call"] != nil }
            return records.count >= count ? records : nil
        }
    }
}
