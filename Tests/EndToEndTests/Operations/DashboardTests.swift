import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@Suite("Dashboard and alerts")
struct DashboardTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test(
        "Each metric in the alerts and the dashboard exists in a scrape", arguments: ["alerts.yaml", "grafana.json"])
    func names(file: String) async throws {
        let text = try String(contentsOf: Self.root.appending(path: "deploy/\(file)"), encoding: .utf8)
        let used = Set(
            text.matches(of: /\b(notify_gateway|process)_[a-z_]+/).map { match in
                String(match.0).replacing(/_(bucket|sum|count)$/, with: "")
            })
        #expect(used.count > 10)
        let scrape = try await GatewayUnderTest.run { gateway in
            try await RawClient(port: gateway.adminPort).send(
                "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            ).text
        }
        let types = Set(scrape.matches(of: #/# TYPE ([a-z_]+) /#).map { String($0.1) })
        #expect(used.subtracting(types) == [])
        #expect(scrape.contains("notify_gateway_build_info{version=\"\(ProgramVersion.text)\"} 1"))
        #expect(scrape.contains(#"notify_gateway_bans{kind="address"} 0"#))
    }

    @Test("Alerts exist for a target that is down and for a certificate that expires")
    func alerts() throws {
        let text = try String(contentsOf: Self.root.appending(path: "deploy/alerts.yaml"), encoding: .utf8)
        #expect(text.contains(#"up{job="notify-gateway"} == 0"#))
        #expect(text.contains("notify_gateway_certificate_expiry_seconds - time()"))
    }
}
