import Foundation
import GatewayTesting
import Testing

@Suite("Tracing of a gateway", .timeLimit(.minutes(5)))
struct TracingTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "b7ad6b7169203331"

    /// A span as the collector received it.
    private struct Received {
        let trace: String
        let id: String
        let parent: String?
        let name: String
        let kind: Int
        let attributes: [String: String]

        init?(_ value: [String: Any]) {
            guard let trace = value["traceId"] as? String, let id = value["spanId"] as? String,
                let name = value["name"] as? String, let kind = value["kind"] as? Int
            else { return nil }
            (self.trace, self.id, self.name, self.kind) = (trace, id, name, kind)
            parent = value["parentSpanId"] as? String
            attributes = Dictionary(
                uniqueKeysWithValues: (value["attributes"] as? [[String: Any]] ?? []).compactMap { attribute in
                    guard let key = attribute["key"] as? String, let value = attribute["value"] as? [String: String]
                    else { return nil }
                    return (key, value["stringValue"] ?? value["intValue"] ?? "")
                })
        }
    }

    private static func spans(_ collector: ScriptedServer) throws -> [Received] {
        try collector.seen.flatMap { request in
            let body = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
            let resources = try #require(body["resourceSpans"] as? [[String: Any]])
            let scopes = resources.flatMap { $0["scopeSpans"] as? [[String: Any]] ?? [] }
            return scopes.flatMap { $0["spans"] as? [[String: Any]] ?? [] }.compactMap(Received.init)
        }
    }

    private static func tracing(_ collector: ScriptedServer, _ more: String = "") -> String {
        "tracing: { endpoint: \"http://127.0.0.1:\(collector.port)/v1/traces\", sample: 1\(more) }"
    }

    /// Runs the body with a collector, a backend, and a gateway between them.
    private static func run(
        listen: String = "", tracing more: String = "",
        responds: Bool = true,
        _ body: (ServedProgram, ScriptedServer, ScriptedServer) async throws -> Void,
        afterwards check: (ScriptedServer, ScriptedServer) throws -> Void = { _, _ in }
    ) async throws {
        try await ScriptedServer.run { _ in
            responds ? [.write(ScriptedServer.ok("{}"))] : [.wait(Signal())]
        } _: { collector in
            try await ScriptedServer.run { _ in
                [.write(ScriptedServer.ok(""))]
            } _: { backend in
                let directory = try TestFiles.ofGateway(
                    """
                    listen: [{ address: "127.0.0.1:0"\(listen) }]
                    backend: { url: "http://127.0.0.1:\(backend.port)" }
                    limits: []
                    \(tracing(collector, more))
                    """)
                let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
                    try await body(gateway, collector, backend)
                }
                #expect(status == 0)
                try check(collector, backend)
            }
        }
    }

    private static func send(to gateway: ServedProgram, _ fields: String = "") async throws -> Int? {
        let credential = Data("alice:alice".utf8).base64EncodedString()
        let body = #""a secret text""#
        return try await RawClient(port: gateway.port).send(
            "POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\nHost: a\r\nAuthorization: Basic \(credential)\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\(fields)"
                + "Connection: close\r\n\r\n\(body)"
        ).status
    }

    private static let traceparent = "traceparent: 00-\(trace)-\(parent)-01\r\ntracestate: rojo=1\r\n"

    @Test("The spans of a send arrive, at the latest when the gateway stops, and the backend's parent is the request's")
    func send() async throws {
        try await Self.run { gateway, _, _ async throws in
            #expect(try await Self.send(to: gateway, Self.traceparent) == 200)
        } afterwards: { collector, backend in
            let spans = try Self.spans(collector)
            let root = try #require(spans.first { $0.kind == 2 })
            #expect(root.name == "POST /api/notifications")
            // The peer is not trusted, so the call is the root of its own trace.
            #expect(root.parent == nil && root.trace != Self.trace)
            #expect(root.attributes["notify_gateway.call"] == root.trace)
            #expect(root.attributes["http.response.status_code"] == "200")
            let request = try #require(spans.first { $0.kind == 3 })
            let seen = try #require(backend.seen.first { $0.line.hasPrefix("POST /api/notifications") })
            #expect(seen.values("traceparent") == ["00-\(root.trace)-\(request.id)-01"])
            #expect(seen.values("tracestate").isEmpty)
            let forward = try #require(spans.first { $0.name == "forward" })
            #expect(request.parent == forward.id && forward.parent == root.id)
            #expect(spans.allSatisfy { $0.trace == root.trace } && spans.count == 11)
            for request in collector.seen {
                let text = String(decoding: request.bytes, as: UTF8.self)
                for word in ["alice", "bob", "secret", "YWxpY2U"] { #expect(!text.contains(word)) }
            }
        }
    }

    @Test("A trusted proxy's trace is continued, and its flag decides")
    func trustedParent() async throws {
        try await Self.run(listen: ", trusted-proxies: [127.0.0.1], plaintext-credentials: allow") {
            gateway, _, _ async throws in
            #expect(try await Self.send(to: gateway, Self.traceparent) == 200)
            #expect(try await Self.send(to: gateway, Self.traceparent.replacing("-01", with: "-00")) == 200)
        } afterwards: { collector, backend in
            let spans = try Self.spans(collector)
            let roots = spans.filter { $0.kind == 2 }
            #expect(roots.map(\.trace) == [Self.trace] && roots.map(\.parent) == [Self.parent])
            let request = try #require(spans.first { $0.kind == 3 })
            let parents = backend.seen.flatMap { $0.values("traceparent") }
            #expect(parents.first == "00-\(Self.trace)-\(request.id)-01")
            #expect(parents.last?.hasPrefix("00-\(Self.trace)-") == true && parents.last?.hasSuffix("-00") == true)
        }
    }

    @Test("A collector that never responds delays neither calls nor, beyond five seconds, the stop")
    func hangingCollector() async throws {
        let clock = ContinuousClock()
        let stopped = AwaitableValue<ContinuousClock.Instant?>(nil)
        try await Self.run(responds: false) { gateway, collector, _ async throws in
            for _ in 0..<60 { #expect(try await Self.send(to: gateway) == 200) }
            await collector.wait { !$0.seen.isEmpty }
            for _ in 0..<20 { #expect(try await Self.send(to: gateway) == 200) }
            stopped.withLock { $0 = clock.now }
        } afterwards: { _, _ in
            let start = try #require(stopped.current)
            #expect(clock.now - start < .seconds(20))
        }
    }

    @Test("A reload turns tracing off and on; metrics count spans")
    func reload() async throws {
        try await Self.run { gateway, collector, _ async throws in
            let configured = try gateway.directory.text(of: "gateway.yaml")
            func reload(_ text: String, times: Int) async throws {
                try gateway.directory.write(text, to: "gateway.yaml")
                let outcome = try await gateway.directory.command("reload")
                #expect(outcome.status == 0)
            }
            let off = configured.split(separator: "\n").filter { !$0.hasPrefix("tracing:") }.joined(separator: "\n")
            #expect(try await Self.send(to: gateway) == 200)
            try await reload(off, times: 1)
            #expect(try Self.spans(collector).count == 11)
            #expect(try await Self.send(to: gateway) == 200)
            try await reload(configured, times: 2)
            #expect(try await Self.send(to: gateway) == 200)
            await collector.wait { $0.seen.count == 2 }
            #expect(try Self.spans(collector).count == 22)
            let admin = try RawClient(port: try #require(gateway.adminPort))
            let scrape = try await admin.send("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").text
            #expect(scrape.contains("\nnotify_gateway_trace_spans_dropped_total{reason=\"queue-full\"} 0\n"))
            #expect(scrape.contains("\nnotify_gateway_trace_spans_exported_total "))
        }
    }
}
