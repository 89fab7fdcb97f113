import Foundation
import GatewayTesting
import Testing

@Suite("Audit sinks of a gateway", .timeLimit(.minutes(5)))
struct AuditSinkTests {
    private static let rounds = TestRun.count(full: 100, otherwise: 6)

    private static func directory(_ port: Int, records: Int = 500) throws -> TestFiles {
        let directory = try TestFiles.ofGateway(
            """
            journal: { directory: journal, minimum-free: 0, sinks: [{ name: hook, webhook: { url: "http://127.0.0.1:\(port)/in", secret: "${file:hook.secret}", records: \(records) } }] }
            """)
        try directory.write(String(repeating: "s", count: 40) + "\n", to: "hook.secret")
        return directory
    }

    private static func numbers(_ body: [UInt8]) -> [Int] {
        String(decoding: body, as: UTF8.self).split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^{"seq":(\d+),/).flatMap { Int($0.1) }
        }
    }

    private static func send(_ count: Int, to client: RawClient) async throws {
        for _ in 0..<count {
            _ = try await client.call("POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""hi""#)
        }
    }

    /// Returns the value of a metric of a sink.
    private static func metric(_ name: String, _ sink: String, _ gateway: ServedProgram) async throws -> Int? {
        let admin = try RawClient(port: try #require(gateway.adminPort))
        let scrape = try await admin.send("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").text
        let line = scrape.split(separator: "\n").first {
            $0.hasPrefix("notify_gateway_sink_\(name){sink=\"\(sink)\"} ")
        }
        return line?.split(separator: " ").last.flatMap { Int($0) }
    }

    /// Returns once the sink has confirmed all records that are on disk.
    private static func untilConfirmed(_ sink: String, _ gateway: ServedProgram) async throws {
        while try await metric("behind_records", sink, gateway) != 0 {}
    }

    @Test(
        "Of a gateway that is killed many times every record arrives, in order, at most one batch twice for each kill")
    func killed() async throws {
        try await ScriptedServer.run { _ in
            [.write(ScriptedServer.ok(""))]
        } _: { receiver in
            let directory = try Self.directory(receiver.port, records: 5)
            for round in 0..<Self.rounds {
                _ = try await ServedProgram.run(in: directory) { gateway async throws in
                    let before = receiver.seen.count
                    let sends = Task { try? await Self.send(30, to: gateway.client) }
                    // Killed at another request in each round, in the middle of a delivery.
                    await receiver.wait { $0.seen.count >= before + 1 + round % 4 }
                    gateway.kill()
                    _ = await sends.value
                }
            }
            _ = try await ServedProgram.run(in: directory) { gateway async throws in
                try await Self.send(1, to: gateway.client)
                let last = try Self.lastOutcome(directory)
                await receiver.wait { $0.seen.contains { Self.numbers($0.body).contains(last) } }
            }
            let bodies = receiver.seen.map { Self.numbers($0.body) }
            var next = 1
            var repeats = 0
            for body in bodies {
                let first = try #require(body.first)
                #expect(body == Array(first..<(first + body.count)))
                #expect(first <= next, "a gap before \(first)")
                #expect(next - first <= 5, "more than one batch again from \(first)")
                if first < next { repeats += 1 }
                next = max(next, first + body.count)
            }
            #expect(repeats <= Self.rounds)
            #expect(next > Self.rounds * 5)
        }
    }

    /// Returns the number of the last outcome. The outcome of the last send may not be on disk yet.
    private static func lastOutcome(_ directory: TestFiles) throws -> Int {
        let records = try GatewayUnderTest.journal(in: directory)
        return try #require(records.last { $0["kind"] as? String != "checkpoint" }?["seq"] as? Int)
    }

    @Test("A slow receiver does not delay calls, and metrics show how far it is behind")
    func slow() async throws {
        let release = Signal()
        try await ScriptedServer.run { _ in
            [.wait(release), .write(ScriptedServer.ok(""))]
        } _: { receiver in
            let directory = try Self.directory(receiver.port)
            let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
                await receiver.wait { !$0.seen.isEmpty }
                try await Self.send(20, to: gateway.client)
                let behind = try #require(try await Self.metric("behind_records", "hook", gateway))
                #expect(behind >= 40)
                let lost = try await Self.metric("lost_records_total", "hook", gateway)
                #expect(lost == 0)
                release.raise()
                await receiver.wait { $0.seen.contains { Self.numbers($0.body).contains(30) } }
            }
            #expect(status == 0)
            let received = receiver.seen.flatMap { Self.numbers($0.body) }
            #expect(received == Array(1...received.count))
        }
    }

    @Test("A reload adds and removes sinks; one with a mistake changes nothing")
    func reload() async throws {
        try await ScriptedServer.run { _ in
            [.write(ScriptedServer.ok(""))]
        } _: { receiver in
            let directory = try Self.directory(receiver.port)
            let configured = try directory.text(of: "gateway.yaml")
            let start = try #require(configured.firstRange(of: "sinks: ["))
            func sinks(_ text: String) throws {
                let end = try #require(configured[start.upperBound...].firstRange(of: "] }"))
                let changed = configured[..<start.upperBound] + text + configured[end.lowerBound...]
                try directory.write(String(changed) + "\ndrain: { grace: 0s }\n", to: "gateway.yaml")
            }
            let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
                await receiver.wait { !$0.seen.isEmpty }
                try sinks(#"{ name: hook, webhook: { url: "http://example.org/", secret: x } }"#)
                let rejected = try await gateway.command("reload")
                #expect(
                    rejected.status == 1 && (rejected.output + rejected.errors).contains("must begin with https://"))
                try sinks("{ name: copy, file: { path: copy.jsonl } }")
                #expect(try await gateway.command("reload").status == 0)
                let before = receiver.seen.count
                try await Self.send(3, to: gateway.client)
                try await Self.untilConfirmed("copy", gateway)
                try sinks("")
                #expect(try await gateway.command("reload").status == 0)
                #expect(receiver.seen.count == before)
            }
            #expect(status == 0)
            let copied = Self.numbers(Array(try directory.text(of: "copy.jsonl").utf8))
            let first = try #require(copied.first)
            #expect(copied.count >= 5 && copied == Array(first..<first + copied.count))
            #expect(try directory.names().contains("journal.sink-copy"))
        }
    }

    @Test("The receiver of the manual stores signed records once, and rejects others")
    func manual() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let manual = try String(contentsOf: root.appending(path: "docs/audit-sinks.md"), encoding: .utf8)
        let code = try #require(manual.firstMatch(of: /```python\n([^`]*)```/)).1
        let files = try TestFiles()
        let script = try files.write(String(code), to: "receiver.py")
        let secret = try files.write(String(repeating: "s", count: 40) + "\n", to: "secret")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [script, "0", secret, "\(files.path)/records"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // The process inherits that the tests ignore SIGTERM.
        defer { kill(process.processIdentifier, SIGKILL) }
        let greeting = try await Blocking.run {
            String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        }
        let port = try #require(greeting.firstMatch(of: /port (\d+)/).flatMap { Int($0.1) })
        let directory = try Self.directory(port)
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            try await Self.send(10, to: gateway.client)
            try await Self.untilConfirmed("hook", gateway)
            let failures = try await Self.metric("failures_total", "hook", gateway)
            #expect(failures == 0)
        }
        #expect(status == 0)
        let stored = Self.numbers(Array(try files.text(of: "records").utf8))
        #expect(stored.count >= 21 && stored == Array(1...stored.count))
        let client = try RawClient(port: port)
        let forged = "{\"seq\":1}\n"
        for signature in ["", "t=1,v1=" + String(repeating: "0", count: 64)] {
            let response = try await client.send(
                "POST / HTTP/1.1\r\nHost: a\r\nNotify-Gateway-Signature: \(signature)\r\nContent-Length: \(forged.utf8.count)\r\n\r\n\(forged)"
            )
            #expect(response.status == 401)
        }
        #expect(Self.numbers(Array(try files.text(of: "records").utf8)) == stored)
    }
}
