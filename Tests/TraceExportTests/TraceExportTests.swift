import GatewaySupport
import GatewayTesting
import NIOCore
import NIOSSL
import OutboundHTTP
import Testing

@testable import TraceExport

@Suite("The export of spans", .timeLimit(.minutes(2)))
struct TraceExportTests {
    @Test("Spans are posted as JSON to the endpoint, in requests of at most 512, with the configured fields")
    func posts() async throws {
        try await ScriptedServer.run(TraceExportFixture.accepts) { server in
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
        try await TraceExportFixture.run(TraceExportFixture.accepts) { fixture, server in
            let start = fixture.clock.clocks.monotonic().nanoseconds
            fixture.record(2)
            await server.wait { !$0.seen.isEmpty }
            #expect(fixture.clock.clocks.monotonic().nanoseconds - start >= 4_000_000_000)
            #expect(server.seen.map(spanCount) == [6])
        }
    }

    @Test("A partial success counts accepted and rejected spans")
    func partialSuccess() async throws {
        try await TraceExportFixture.run { _ in
            [.write(ScriptedServer.ok(#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}}"#))]
        } _: { fixture, server in
            fixture.record(2)
            await server.wait { $0.seen.count == 1 }
            await fixture.untilIdle()
            #expect(fixture.export.metrics.exported.value == 4 && fixture.drops(.rejected) == 2)
        }
    }

    @Test("A stop posts what is left, with one attempt for each batch")
    func stopFlushes() async throws {
        try await ScriptedServer.run(TraceExportFixture.accepts) { server in
            let fixture = TraceExportFixture()
            await fixture.export.apply(try TraceExportFixture.settings(server.port))
            fixture.record(60, spans: 10)
            await fixture.export.stop()
            #expect(server.seen.map(spanCount).reduce(0, +) == 600)
            fixture.record(1)
            #expect(fixture.drops(.stopped) == 3)
        }
    }

    @Test("Other settings end the export to one collector and begin with another; none turn it off")
    func reload() async throws {
        try await ScriptedServer.run(TraceExportFixture.accepts) { first in
            try await ScriptedServer.run(TraceExportFixture.accepts) { second in
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

    @Test("TLS: only a collector with a certificate for its name receives something", arguments: ServerNameCase.all)
    func tls(_ example: ServerNameCase) async throws {
        let directory = try TestFiles()
        let authority = try directory.write(ServerNameCase.authority, to: "ca.pem")
        let certificate = example.certificate
        for (host, isAccepted) in [("localhost", example.isForName), ("127.0.0.1", example.isForAddress)] {
            let context = try certificate.serverContext()
            let server = try await ScriptedServer.start { pipeline in
                try pipeline.addHandler(NIOSSLServerHandler(context: context))
            } _: { request in
                TraceExportFixture.accepts(request)
            }
            let fixture = TraceExportFixture()
            await fixture.export.apply(
                try TraceExportFixture.settings(server.port, scheme: "https", host: host, authority: authority))
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
