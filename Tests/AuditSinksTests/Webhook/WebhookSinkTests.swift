import GatewaySupport
import GatewayTesting
import Testing

@testable import AuditSinks

@Suite("Webhook sinks", .timeLimit(.minutes(2)))
struct WebhookSinkTests {
    /// Runs the body with a fixture and a receiver, then closes both.
    private func run(
        segmentBytes: Int = 64 << 20, jitter: Double = 1,
        _ script: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step],
        _ body: (SinkFixture, ScriptedServer, String) async throws -> Void
    ) async throws {
        try await ScriptedServer.run(script) { server in
            let fixture = try SinkFixture(segmentBytes: segmentBytes, jitter: jitter)
            try await body(fixture, server, "http://127.0.0.1:\(server.port)/in")
            await fixture.close()
        }
    }

    @Test("All records arrive signed, in order and once, across segments and restarts of the sinks")
    func delivers() async throws {
        try await ScriptedServer.run { _ in
            [.write(ScriptedServer.ok(""))]
        } _: { server in
            let directory = try TestFiles()
            let url = "http://127.0.0.1:\(server.port)/in"
            for round in 0..<3 {
                let fixture = try SinkFixture(directory, segmentBytes: 4000)
                await fixture.sinks.apply([try SinkFixture.webhook(url, records: 7)])
                try await fixture.record(round * 20..<round * 20 + 20)
                await fixture.untilConfirmed()
                let reading = try #require(await fixture.reading())
                #expect(reading.failures == 0 && reading.lost == 0 && reading.secondsBehind == 0)
                await fixture.close()
            }
            let received = server.seen.flatMap { lineNumbers($0.body) }
            #expect(received == Array(1...received.count))
            #expect(received.count > 120)
            let signature = WebhookSignature(SinkFixture.secret)
            for request in server.seen {
                let value = try #require(request.values("Notify-Gateway-Signature").first)
                let seconds = try #require(value.firstMatch(of: /^t=(\d+),/).flatMap { Int64($0.1) })
                let expected = try signature.value(for: request.body, at: WallTime(seconds: seconds))
                #expect(value == expected)
                #expect(request.values("Content-Type") == ["application/x-ndjson"])
                #expect(lineNumbers(request.body).count <= 7)
            }
        }
    }

    @Test(
        "A response that is no confirmation repeats the same batch after growing waits",
        arguments: [
            "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 1073741824\r\n\r\n" + String(repeating: "x", count: 200_000),
            "HTTP/1.1 301 Moved Permanently\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: /in\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\n\r\n", "not HTTP\r\n\r\n", "HTTP/1.1 200", "",
        ])
    func repeats(response: String) async throws {
        let attempts = AwaitableValue(0)
        try await run { _ in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return attempt <= 3 ? [.write(response), .close] : [.write(ScriptedServer.ok(""))]
        } _: { fixture, server, url in
            try await fixture.record(0..<3)
            await fixture.sinks.apply([try SinkFixture.webhook(url)])
            await fixture.untilConfirmed()
            #expect(fixture.waits.current == [1, 2, 4].map { .seconds($0) })
            let bodies = server.seen.map { lineNumbers($0.body) }
            #expect(bodies == [[Int]](repeating: Array(1...7), count: 4))
            #expect(await fixture.reading()?.failures == 3)
        }
    }

    @Test("A head of 2xx confirms a batch whose body has no end, and the body is not read")
    func endlessBody() async throws {
        let chunk = String(repeating: "x", count: 65_536)
        try await run { _ in
            [.write("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n" + chunk + chunk), .wait(Signal())]
        } _: { fixture, server, url in
            try await fixture.record(0..<3)
            await fixture.sinks.apply([try SinkFixture.webhook(url, records: 4)])
            await fixture.untilConfirmed()
            #expect(server.seen.map { lineNumbers($0.body) } == [[1, 2, 3, 4], [5, 6, 7]])
            #expect(server.connections == 2)
            #expect(await fixture.reading()?.failures == 0)
        }
    }

    @Test("A receiver that accepts requests and never responds ends at the deadline, and others are not delayed")
    func slow() async throws {
        let release = AwaitableValue(false)
        try await ScriptedServer.run { _ in
            [.write(ScriptedServer.ok(""))]
        } _: { good in
            try await run { _ in
                release.current ? [.write(ScriptedServer.ok(""))] : [.wait(Signal())]
            } _: { fixture, server, url in
                try await fixture.record(0..<3)
                await fixture.sinks.apply([
                    try SinkFixture.webhook(url, timeout: .milliseconds(200)),
                    try SinkFixture.webhook("http://127.0.0.1:\(good.port)/", name: "good"),
                ])
                await fixture.untilConfirmed("good")
                await fixture.waits.wait { $0.count >= 2 }
                #expect(await fixture.reading()?.recordsBehind == 7)
                release.withLock { $0 = true }
                await fixture.untilConfirmed()
                #expect(lineNumbers(server.seen.last?.body ?? []) == Array(1...7))
                #expect(good.seen.flatMap { lineNumbers($0.body) } == Array(1...7))
            }
        }
    }

    @Test("A wait that the receiver asks for is honoured up to an hour")
    func retryAfter() async throws {
        let attempts = AwaitableValue(0)
        try await run { _ in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            switch attempt {
            case 1: return [.write(ScriptedServer.response("503 Busy", "Retry-After: 90\r\n"))]
            case 2: return [.write(ScriptedServer.response("429 Slow down", "Retry-After: 999999\r\n"))]
            default: return [.write(ScriptedServer.ok(""))]
            }
        } _: { fixture, _, url in
            await fixture.sinks.apply([try SinkFixture.webhook(url)])
            await fixture.untilConfirmed()
            #expect(fixture.waits.current == [.seconds(90), .seconds(3600)])
        }
    }

    @Test("A receiver that was down for an hour gets every record afterwards, in order and once")
    func downForAnHour() async throws {
        let isUp = AwaitableValue(false)
        let accepted = AwaitableValue<[Int]>([])
        try await run { request in
            guard isUp.current else { return [.write(ScriptedServer.response("500 Down", "")), .close] }
            accepted.withLock { $0 += lineNumbers(request.body) }
            return [.write(ScriptedServer.ok(""))]
        } _: { fixture, _, url in
            var calls = 3
            try await fixture.record(0..<calls)
            await fixture.sinks.apply([try SinkFixture.webhook(url, records: 50)])
            // The waits of the sink are what moves the clock.
            while fixture.waits.current.reduce(.zero, +) < .seconds(3600) {
                let seen = fixture.waits.current.count
                try await fixture.record(calls..<(calls + 2))
                calls += 2
                await fixture.waits.wait { $0.count > seen }
            }
            isUp.withLock { $0 = true }
            await fixture.untilConfirmed()
            let last = try #require(accepted.current.last)
            #expect(accepted.current == Array(1...last) && last > 2 * calls)
            #expect(await fixture.reading()?.recordsBehind == 0)
        }
    }

    @Test("TLS: only a receiver with a certificate for its name receives something", arguments: ServerNameCase.all)
    func tls(_ example: ServerNameCase) async throws {
        let directory = try TestFiles()
        let authority = try directory.write(ServerNameCase.authority, to: "ca.pem")
        for (host, isAccepted) in [("localhost", example.isForName), ("127.0.0.1", example.isForAddress)] {
            let server = try await TLSReceiver.start(example.certificate)
            let fixture = try SinkFixture()
            let url = "https://\(host):\(server.port)/in"
            await fixture.sinks.apply([try SinkFixture.webhook(url, authority: authority)])
            if isAccepted {
                await fixture.untilConfirmed()
                #expect(server.seen.flatMap { lineNumbers($0.body) } == [1])
            } else {
                await fixture.waits.wait { $0.count >= 2 }
                #expect(server.seen.isEmpty)
            }
            await fixture.close()
            await server.stop()
        }
    }
}
