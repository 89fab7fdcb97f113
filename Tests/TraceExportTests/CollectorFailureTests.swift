import GatewaySupport
import GatewayTesting
import OutboundHTTP
import Testing

@testable import TraceExport

@Suite("Collectors that fail", .timeLimit(.minutes(2)))
struct CollectorFailureTests {
    @Test(
        "An overloaded collector gets the same spans again, after growing waits or the wait that it asks for",
        arguments: ["429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"])
    func retries(status: String) async throws {
        let attempts = AwaitableValue(0)
        try await TraceExportFixture.run { _ in
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
        try await TraceExportFixture.run { _ in
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
        try await TraceExportFixture.run { _ in
            [.write(ScriptedServer.response(status, fields))]
        } _: { fixture, server in
            fixture.record(2)
            await server.wait { $0.seen.count == 1 }
            await fixture.untilIdle()
            #expect(server.seen.count == 1 && fixture.drops(.rejected) == 6)
        }
    }

    @Test(
        "A response that is no HTTP or ends early is a failure, and the spans are posted again",
        arguments: ["", "not HTTP\r\n\r\n", "HTTP/1.1 200"])
    func broken(response: String) async throws {
        let attempts = AwaitableValue(0)
        try await TraceExportFixture.run { _ in
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
        try await TraceExportFixture.run { _ in
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
        try await TraceExportFixture.run { _ in
            [.wait(Signal())]
        } _: { fixture, server in
            fixture.record(1)
            await server.wait { $0.seen.count == 1 }
            fixture.record(SpanQueue.maximumSpans / 10 + 5, spans: 10)
            #expect(fixture.export.queue.count == SpanQueue.maximumSpans / 10 * 10)
            #expect(fixture.drops(.queueFull) == 50)
            fixture.record(1, spans: SpanQueue.maximumSpans % 10)
            #expect(fixture.export.queue.count == SpanQueue.maximumSpans)
        }
    }

    @Test("An absent collector loses spans after six attempts")
    func absent() async throws {
        let port = try await ScriptedServer.run(TraceExportFixture.accepts) { $0.port }
        let fixture = TraceExportFixture()
        await fixture.export.apply(try TraceExportFixture.settings(port))
        fixture.record(2)
        await fixture.waits.wait { $0.count == 5 }
        await fixture.untilIdle()
        #expect(fixture.drops(.undelivered) == 6)
        fixture.graceEnds.raise()
        await fixture.export.stop()
    }

    @Test("A stop interrupts the wait for another attempt and makes one more")
    func stopDuringWait() async throws {
        let attempts = AwaitableValue(0)
        try await TraceExportFixture.run(waitsForStop: true) { _ in
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
        try await TraceExportFixture.run { _ in
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
}
