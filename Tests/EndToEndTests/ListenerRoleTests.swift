import GatewayTesting
import Testing

/// The admin listener serves health and metrics, the public listeners serve calls. No request field changes this.
@Suite("Roles of listeners", .timeLimit(.minutes(1)))
struct ListenerRoleTests {
    private static let roles = [
        "", "Host: admin\r\n", "Host: 127.0.0.1:9090\r\n", "X-Forwarded-Host: admin\r\n", "X-Forwarded-Port: 9090\r\n",
        "X-Original-URL: /health/live\r\n", "Forwarded: host=admin\r\n", "X-Admin: true\r\n",
    ]

    private static func get(_ target: String, _ fields: String) -> String {
        let host = fields.hasPrefix("Host: ") ? "" : "Host: gateway.test\r\n"
        return "GET \(target) HTTP/1.1\r\n\(host)\(fields)Authorization: Basic YWxpY2U6YWxpY2U=\r\n\r\n"
    }

    @Test("The public listener serves nothing of the admin listener, whatever fields a client sends")
    func publicListener() async throws {
        try await GatewayUnderTest.run { gateway in
            for target in ["/health/live", "/health/ready", "/metrics", "/health", "/admin", "/debug/pprof"] {
                for fields in Self.roles {
                    let answer = try await gateway.client.send(Self.get(target, fields))
                    #expect(answer.status == 404, "\(target) \(fields)")
                    #expect(answer.problem == "no-route")
                }
            }
        }
    }

    @Test("The admin listener serves no call, whatever fields a client sends")
    func adminListener() async throws {
        try await GatewayUnderTest.run { gateway in
            let admin = try RawClient(port: gateway.adminPort)
            let live = try await admin.send(Self.get("/health/live", ""))
            #expect(live.status == 200)
            for target in ["/auth/whoami", "/auth/sessions", "/api/register", "/api/notifications"] {
                for fields in Self.roles {
                    let answer = try await admin.send(Self.get(target, fields))
                    #expect(answer.status == 404, "\(target) \(fields)")
                }
            }
            let send = RawClient.request(
                "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""hi""#)
            let status = try await admin.send(send).status
            #expect(status == 404)
            #expect(gateway.seen.all.isEmpty)
        }
    }
}
