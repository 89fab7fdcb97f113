import GatewaySupport
import GatewayTesting
import NIOCore
import NIOSSL
import OutboundHTTP
import Testing

@testable import TraceExport

@Suite("The export of spans", .timeLimit(.minutes(2)))
struct TraceExportTests {
    private typealias Steps = [ScriptedServer.Step]

    /// Runs the body with an export to a collector, and stops it.
    private func run(
        _ fixture: TraceExportFixture = TraceExportFixture(),
        _ script: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step],
        _ body: (TraceExportFixture, ScriptedServer) async throws -> Void
    ) async throws {
        try await ScriptedServer.run(script) { server in
            await fixture.export.apply(try TraceExportFixture.settings(server.port))
            try await body(fixture, server)
            fixture.graceEnds.raise()
            await fixture.export.stop()
        }
    }

    private static let accepts: @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step] = { _ in
        [.write(ScriptedServer.ok("{}"))]
    }

    @Test("Spans are posted as JSON to the endpoint, in requests of at most 512, with the configured fields")
    func posts() async throws {
        try await ScriptedServer.run(Self.accepts) { server in
            let fixture = TraceExportFixture()
            fixture.record(1)
            await fixture.export.apply(
                try TraceExportFixture.settings(
                    server.port, headers: [.init("Authorization", Secret("Bearer x".utf8))]))
            fixture.record(300, spans: 10)
            await server.wait { progress in progress.seen.map(spanCount).reduce(0, +) == 3000 }
            await fixture.untilIdle()
            #expect(server.seen.allSatisfy { spanCount($0) <= TraceExportRun.maximumBatchSpans })
            for request in server.seen {
                #expect(request.line == "POST /v1/traces HTTP/1.1")
                #expect(request.values("Content-Type") == ["application/json"])
                #expect(request.values("Authorization") == ["Bearer x"])
            }
            #expect(server.connections == 1)
            #expect(fixture.export.metrics.exported.value == 3000)
            // The spans from before the export was turned on.
            #expect(fixture.drops(.stopped) == 3)
            fixture.graceEnds.raise()
            await fixture.export.stop()
        }
    }

    @Test("Few spans are posted after five seconds")
    func interval() async throws {
        try await run(TraceExportFixture(), Self.accepts) { fixture, server in
            let start = fixture.clock.clocks.monotonic().nanoseconds
            fixture.record(2)
            await server.wait { !$0.seen.isEmpty }
            #expect(fixture.clock.clocks.monotonic().nanoseconds - start >= 4_000_000_000)
            #expect(server.seen.map(spanCount) == [6])
        }
    }

    @Test(
        "An overloaded collector gets the same spans again, after growing waits or the wait that it asks for",
        arguments: ["429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"])
    func retries(status: String) async throws {
        let attempts = AwaitableValue(0)
        try await run(TraceExportFixture()) { _ in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            switch attempt {
            case 1: return [.write(ScriptedServer.response(status))]
            case 2: return [.write(ScriptedServer.response(status, "Retry-After: 40\r\n"))]
            case 3: return [.write(ScriptedServer.response(status, "Retry-After: 999999\r\n"))]
            default: return [.write(ScriptedServer.ok("{}"))]
            }
        } _: { fixture, server in
            fixture.record(2)
            await server.wait { $0.seen.count == 4 }
            await fixture.untilIdle()
            #expect(fixture.waits.current == [1, 40, 300].map { .seconds($0) })
            #expect(Set(server.seen.map(\.body)).count == 1)
            #expect(fixture.export.metrics.exported.value == 6)
        }
    }

    @Test("A collector that is overloaded for six attempts loses the spans, and gets later ones")
    func givesUp() async throws {
        let attempts = AwaitableValue(0)
        try await run(TraceExportFixture()) { _ in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return [.write(attempt <= 6 ? ScriptedServer.response("503 Busy") : ScriptedServer.ok("{}"))]
        } _: { fixture, server in
            fixture.record(2)
            await server.wait { $0.seen.count == 6 }
            await fixture.untilIdle()
            #expect(fixture.drops(.undelivered) == 6)
            #expect(fixture.waits.current == [1, 2, 4, 8, 16].map { .seconds($0) })
            fixture.record(1)
            await server.wait { $0.seen.count == 7 }
            await fixture.untilIdle()
            #expect(fixture.export.metrics.exported.value == 3)
        }
    }

    @Test(
        "A collector that rejects spans gets them once; a redirect is not followed",
        arguments: [
            ("400 Bad Request", ""), ("401 Unauthorized", ""), ("404 Not Found", ""), ("500 Internal Server Error", ""),
            ("307 Temporary Redirect", "Location: http://127.0.0.1:1/\r\n"),
        ])
    func rejects(status: String, fields: String) async throws {
        try await run(TraceExportFixture()) { _ in
            [.write(ScriptedServer.response(status, fields))]
        } _: { fixture, server in
            fixture.record(2)
            await server.wait { $0.seen.count == 1 }
            await fixture.untilIdle()
            #expect(server.seen.count == 1 && fixture.drops(.rejected) == 6)
        }
    }

    @Test("A partial success counts accepted and rejected spans")
    func partialSuccess() async throws {
        try await run(TraceExportFixture()) { _ in
            [.write(ScriptedServer.ok(#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}}"#))]
        } _: { fixture, server in
            fixture.record(2)
            await server.wait { $0.seen.count == 1 }
            await fixture.untilIdle()
            #expect(fixture.export.metrics.exported.value == 4 && fixture.drops(.rejected) == 2)
        }
    }

    @Test(
        "A response that is no HTTP or ends early is a failure, and the spans are posted again",
        arguments: ["", "not HTTP\r\n\r\n", "HTTP/1.1 200"])
    func broken(response: String) async throws {
        let attempts = AwaitableValue(0)
        try await run(TraceExportFixture()) { _ in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return attempt == 1 ? [.write(response), .close] : [.write(ScriptedServer.ok("{}"))]
        } _: { fixture, server in
            fixture.record(2)
            await server.wait { $0.seen.count == 2 }
            await fixture.untilIdle()
            #expect(fixture.waits.current == [.seconds(1)])
            #expect(fixture.export.metrics.exported.value == 6)
        }
    }

    @Test("Of a body of a gigabyte at most 64 KiB are read, and the status decides")
    func endlessBody() async throws {
        let chunk = String(repeating: "x", count: 65_536)
        try await run(TraceExportFixture()) { _ in
            [.write("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n" + chunk + chunk), .wait(Signal())]
        } _: { fixture, server in
            fixture.record(2)
            await server.wait { $0.seen.count == 1 && $0.closed == 1 }
            await fixture.untilIdle()
            #expect(fixture.export.metrics.exported.value == 6)
        }
    }

    @Test(
        "A collector that never responds holds one batch; further spans wait up to a bound and are then dropped whole")
    func neverResponds() async throws {
        try await run(TraceExportFixture()) { _ in
            [.wait(Signal())]
        } _: { fixture, server in
            fixture.record(1)
            await server.wait { $0.seen.count == 1 }
            fixture.record(SpanQueue.maximumSpans / 10 + 5, spans: 10)
            #expect(fixture.export.queue.count == SpanQueue.maximumSpans / 10 * 10)
            #expect(fixture.drops(.queueFull) == 50)
            fixture.record(1, spans: 6)
            #expect(fixture.export.queue.count == SpanQueue.maximumSpans)
        }
    }

    @Test("A stop posts what is left, with one attempt for each batch")
    func stopFlushes() async throws {
        try await ScriptedServer.run(Self.accepts) { server in
            let fixture = TraceExportFixture()
            await fixture.export.apply(try TraceExportFixture.settings(server.port))
            fixture.record(60, spans: 10)
            await fixture.export.stop()
            #expect(server.seen.map(spanCount).reduce(0, +) == 600)
            fixture.record(1)
            #expect(fixture.drops(.stopped) == 3)
        }
    }

    @Test("A stop interrupts the wait for another attempt and makes one more")
    func stopDuringWait() async throws {
        let attempts = AwaitableValue(0)
        try await run(TraceExportFixture(waitsForStop: true)) { _ in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return [.write(attempt == 1 ? ScriptedServer.response("503 Busy") : ScriptedServer.ok("{}"))]
        } _: { fixture, server in
            fixture.record(2)
            await fixture.waits.wait { !$0.isEmpty }
            await fixture.export.stop()
            #expect(server.seen.count == 2 && fixture.export.metrics.exported.value == 6)
        }
    }

    @Test("A stop gives a collector that never responds its grace, and then counts the spans as dropped")
    func stopWithHangingCollector() async throws {
        try await run(TraceExportFixture()) { _ in
            [.wait(Signal())]
        } _: { fixture, server in
            fixture.record(2)
            await server.wait { $0.seen.count == 1 }
            fixture.record(1)
            let stop = Task { await fixture.export.stop() }
            await fixture.stopping.wait()
            #expect(fixture.drops(.stopped) == 0)
            fixture.graceEnds.raise()
            await stop.value
            #expect(fixture.drops(.stopped) == 9)
        }
    }

    @Test("An absent collector loses spans after six attempts")
    func absent() async throws {
        let port = try await ScriptedServer.run(Self.accepts) { $0.port }
        let fixture = TraceExportFixture()
        await fixture.export.apply(try TraceExportFixture.settings(port))
        fixture.record(2)
        await fixture.waits.wait { $0.count == 5 }
        await fixture.untilIdle()
        #expect(fixture.drops(.undelivered) == 6)
        fixture.graceEnds.raise()
        await fixture.export.stop()
    }

    @Test("Other settings end the export to one collector and begin with another; none turn it off")
    func reload() async throws {
        try await ScriptedServer.run(Self.accepts) { first in
            try await ScriptedServer.run(Self.accepts) { second in
                let fixture = TraceExportFixture()
                await fixture.export.apply(try TraceExportFixture.settings(first.port))
                fixture.record(1)
                await fixture.export.apply(try TraceExportFixture.settings(second.port))
                fixture.record(2)
                await fixture.export.apply(try TraceExportFixture.settings(second.port))
                await second.wait { !$0.seen.isEmpty }
                await fixture.export.apply(nil)
                #expect(first.seen.map(spanCount) == [3] && second.seen.map(spanCount) == [6])
                fixture.record(1)
                #expect(fixture.drops(.stopped) == 3)
                await fixture.export.stop()
            }
        }
    }

    @Test("TLS: a collector with the right name is accepted, one with another name is not")
    func tls() async throws {
        let directory = try TestFiles()
        let authority = try directory.write(TestCertificate.authority, to: "ca.pem")
        for (certificate, isAccepted) in [(TestCertificate.one, true), (.elsewhere, false)] {
            let context = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificate.certificate.utf8))
                        .map { .certificate($0) },
                    privateKey: .privateKey(NIOSSLPrivateKey(bytes: Array(certificate.key.utf8), format: .pem))))
            let server = try await ScriptedServer.start { pipeline in
                try pipeline.addHandler(NIOSSLServerHandler(context: context))
            } _: { request in
                Self.accepts(request)
            }
            let fixture = TraceExportFixture()
            await fixture.export.apply(
                try TraceExportFixture.settings(server.port, scheme: "https", host: "localhost", authority: authority))
            fixture.record(1)
            if isAccepted {
                await server.wait { $0.seen.count == 1 }
            } else {
                await fixture.waits.wait { $0.count >= 2 }
                #expect(server.seen.isEmpty)
            }
            fixture.graceEnds.raise()
            await fixture.export.stop()
            await server.stop()
        }
    }
}
