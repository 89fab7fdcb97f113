import Foundation
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport
import GatewayTesting
import NotifyBackend
import Testing

@Suite("The admin listener")
struct MetricsTests {
    /// The samples of a scrape: name, labels and value of each.
    private struct Scrape {
        var samples: [(name: String, labels: [String: String], value: Double)] = []
        var types: [String: String] = [:]

        init(_ text: String) throws {
            for line in text.split(separator: "\n") {
                if let type = line.wholeMatch(of: /# TYPE ([a-z_]+) ([a-z]+)/) {
                    #expect(types[String(type.1)] == nil, "duplicate type: \(line)")
                    types[String(type.1)] = String(type.2)
                }
                if line.hasPrefix("#") { continue }
                let parts = try #require(
                    line.wholeMatch(of: /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([0-9.e+-]+)/), "\(line)")
                var labels: [String: String] = [:]
                for label in String(parts.2 ?? "").matches(of: /([a-z_]+)="((?:[^"\\]|\\.)*)"/) {
                    labels[String(label.1)] = String(label.2)
                }
                samples.append((String(parts.1), labels, try #require(Double(parts.3), "\(line)")))
            }
        }

        func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
            samples.first { sample in
                sample.name == name && labels.allSatisfy { label in sample.labels[label.key] == label.value }
            }?.value
        }
    }

    private func scrape(_ port: Int) async throws -> Scrape {
        let response = try await RawClient(port: port).send(
            "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(response.status == 200)
        #expect(response.field("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
        return try Scrape(response.text)
    }

    @Test("The metrics count calls, phases, authenticators, limits, journal and connections, and contain no user name")
    func counts() async throws {
        let limit =
            #"limits: [{ name: few, per: sender, rate: 2/min }, { name: trial, per: recipient, rate: 1/min, shadow: true }]"#
        try await GatewayUnderTest.run(more: limit) { gateway in
            for _ in 0..<3 {
                _ = try await gateway.client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""hi""#)
            }
            _ = try await gateway.client.call("GET", "/auth/whoami", as: "bob", password: "wrong")
            _ = try await gateway.client.call("GET", "/nowhere")
            _ = try await gateway.client.send("GET / HTTP/1.1\r\n\r\n")
            let scrape = try await scrape(gateway.adminPort)
            let calls = "notify_gateway_calls_total"
            #expect(scrape.value(calls, ["action": "send", "code": "ok"]) == 2)
            #expect(scrape.value(calls, ["action": "send", "code": "rate-limited"]) == 1)
            #expect(scrape.value(calls, ["action": "whoami", "code": "credentials-rejected"]) == 1)
            #expect(scrape.value(calls, ["action": "none", "code": "no-route"]) == 1)
            #expect(scrape.value(calls, ["action": "none", "code": "malformed-request"]) == 1)
            #expect(scrape.value("notify_gateway_limit_rejections_total", ["limit": "few"]) == 1)
            // The second send, and the third, which another limit rejected.
            #expect(scrape.value("notify_gateway_limit_shadow_rejections_total", ["limit": "trial"]) == 2)
            let lookups = "notify_gateway_password_cache_lookups_total"
            // The password cache accepts the second and the third send, but the first check of the files, soon after the
            // start, clears it once.
            let hits = try #require(scrape.value(lookups, ["authenticator": "static-users", "result": "hit"]))
            #expect(hits == 1 || hits == 2)
            #expect(scrape.value(lookups, ["authenticator": "static-users", "result": "miss"]) == 4 - hits)
            let outcomes = "notify_gateway_authenticator_outcomes_total"
            #expect(scrape.value(outcomes, ["authenticator": "static-users", "outcome": "accepted"]) == 3 - hits)
            #expect(scrape.value(outcomes, ["authenticator": "static-users", "outcome": "rejected"]) == 1)
            for phase in ["parse", "authenticate", "authorize", "limit", "rewrite", "record", "forward", "complete"] {
                let count = scrape.value("notify_gateway_phase_duration_seconds_count", ["phase": phase]) ?? 0
                #expect(count >= 2, "\(phase)")
            }
            #expect(scrape.value("notify_gateway_call_duration_seconds_count") == 5)
            #expect(scrape.value("notify_gateway_call_duration_seconds_bucket", ["le": "+Inf"]) == 5)
            #expect(scrape.value("notify_gateway_ready") == 1)
            #expect(scrape.value("notify_gateway_journal_up") == 1)
            #expect(scrape.value("notify_gateway_journal_sync_duration_seconds_count") ?? 0 > 0)
            #expect(scrape.value("notify_gateway_upstream_connects_total", ["result": "connected"]) ?? 0 >= 1)
            #expect(scrape.value("notify_gateway_connections_accepted_total") == 6)
            for sample in scrape.samples {
                for value in sample.labels.values {
                    #expect(!["alice", "bob"].contains { value.contains($0) }, "\(sample)")
                }
            }
        }
    }

    @Test("The connection counters survive a reload that changes the backend")
    func connects() async throws {
        try await GatewayUnderTest.runBackend(.classic, hub: NotificationHub()) { other in
            try await GatewayUnderTest.run { gateway in
                func made() async throws -> Double {
                    let name = "notify_gateway_upstream_connects_total"
                    return try #require(try await scrape(gateway.adminPort).value(name, ["result": "connected"]))
                }
                func send() async throws {
                    let target = "/api/notifications?pns=apns&to_tag=bob"
                    #expect(try await gateway.client.call("POST", target, as: "alice", body: #""hi""#).status == 200)
                }
                try await send()
                let before = try await made()
                #expect(before >= 1)
                let text = try gateway.directory.text(of: "gateway.yaml")
                    .replacing(/url: "[^"]*"/, with: "url: \"http://127.0.0.1:\(other)\"")
                try gateway.directory.write(text, to: "gateway.yaml")
                let control = OperatorClient(path: "\(gateway.directory.path)/control.sock")
                #expect(try await control.perform(ControlRequest("reload")) { _ in } == nil)
                #expect(try await made() >= before)
                try await send()
                #expect(try await made() > before)
            }
        }
    }

    @Test("The buckets of a histogram are cumulative, and the last one equals the count")
    func histograms() async throws {
        try await GatewayUnderTest.run { gateway in
            for _ in 0..<5 { _ = try await gateway.client.call("GET", "/auth/whoami", as: "alice") }
            let scrape = try await scrape(gateway.adminPort)
            let histograms = scrape.types.filter { $0.value == "histogram" }.keys
            #expect(histograms.count >= 6)
            for name in histograms {
                let buckets = scrape.samples.filter { $0.name == "\(name)_bucket" }
                for group in Dictionary(grouping: buckets, by: { $0.labels.filter { $0.key != "le" } }) {
                    let values = group.value.map(\.value)
                    #expect(values == values.sorted(), "\(name)")
                    #expect(group.value.last?.labels["le"] == "+Inf")
                    #expect(values.last == scrape.value("\(name)_count", group.key), "\(name)")
                }
            }
        }
    }

    @Test("Dashboard and alerts use only existing metrics, labels and codes, and the dashboard shows each metric")
    func dashboards() async throws {
        let deploy = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../deploy")
        let dashboard = try String(contentsOf: deploy.appending(path: "grafana.json"), encoding: .utf8)
        let alerts = try String(contentsOf: deploy.appending(path: "alerts.yaml"), encoding: .utf8)
        #expect(try JSONSerialization.jsonObject(with: Data(dashboard.utf8)) is [String: Any])
        let limit = #"limits: [{ name: trial, per: sender, rate: 1/min, shadow: true }]"#
        try await GatewayUnderTest.run(more: limit) { gateway in
            _ = try await gateway.client.call(
                "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""hi""#)
            let scrape = try await scrape(gateway.adminPort)
            var labels: [String: Set<String>] = [:]
            for sample in scrape.samples { labels[sample.name, default: []].formUnion(sample.labels.keys) }
            for name in scrape.types.keys where labels[name] == nil && labels["\(name)_bucket"] == nil {
                // Metrics of other authenticators, of audit sinks and of the archive have no sample here.
                labels[name] = ["authenticator", "issuer", "sink", "state"]
            }
            let codes = Set(RejectionCode.allCases.map(\.rawValue) + ["ok"])
            for (file, text) in [("grafana.json", dashboard), ("alerts.yaml", alerts)] {
                let plain = text.replacing("\\\"", with: "\"")
                let names = plain.matches(of: /\b((?:notify_gateway|process)_[a-z_]+)(?:\{([^}]*)\})?/)
                #expect(names.count > 10)
                for match in names {
                    let name = String(match.1)
                    let known = try #require(labels[name], "\(file): \(name) is not served")
                    for condition in String(match.2 ?? "").matches(of: /([a-z]+)=~?"([^"]*)"/) {
                        let label = String(condition.1)
                        #expect(known.contains(label) || label == "instance", "\(file): \(name){\(label)}")
                        if label == "code" {
                            for code in condition.2.split(separator: "|") {
                                #expect(codes.contains(String(code)), "\(file): \(code)")
                            }
                        }
                    }
                }
                for grouping in plain.matches(of: /by \(([a-z, ]+)\)/) {
                    for label in grouping.1.split(separator: ", ") where label != "instance" {
                        #expect(labels.values.contains { $0.contains(String(label)) }, "\(file): by \(label)")
                    }
                }
            }
            // Metrics of libraries have no panel.
            for name in scrape.types.keys where name.hasPrefix("notify_gateway_") || name.hasPrefix("process_") {
                #expect(dashboard.contains(name), "\(name) is on no panel")
            }
        }
    }

    @Test("The admin listener serves liveness and readiness, and the public listener does not")
    func health() async throws {
        try await GatewayUnderTest.run { gateway in
            func get(_ path: String) async throws -> RawClient.Response {
                try await RawClient(port: gateway.adminPort).send(
                    "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            }
            #expect(try await get("/health/live").status == 200)
            #expect(try await get("/health/ready").status == 200)
            #expect(try await get("/").status == 404)
            // The public listener does not serve these paths.
            for path in ["/metrics", "/health/live", "/health/ready"] {
                let response = try await gateway.client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(response.problem == "no-route")
            }
        }
    }
}
