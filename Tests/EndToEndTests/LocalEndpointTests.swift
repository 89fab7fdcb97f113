import GatewayTesting
import NotifyBackend
import Testing

@Suite("Local endpoints")
struct LocalEndpointTests {
    @Test("`whoami` returns the identity of the caller without a request to the backend")
    func whoami() async throws {
        try await GatewayUnderTest.run { gateway in
            let answer = try await gateway.client.call("GET", "/auth/whoami", as: "bob")
            #expect(answer.status == 200)
            #expect(
                answer.text
                    == #"{"user":"bob","groups":["staff"],"tag":"username:bob","authenticator":"static-users"}"#)
            #expect(gateway.seen.all.isEmpty)
        }
    }

    @Test("The admin listener serves liveness and readiness")
    func health() async throws {
        try await GatewayUnderTest.run { gateway in
            let admin = try RawClient(port: gateway.adminPort)
            let live = try await admin.call("GET", "/health/live")
            #expect(live.text == "{\"status\":\"live\"}\n")
            let ready = try await admin.call("GET", "/health/ready")
            #expect(ready.text == "{\"status\":\"ready\"}\n")
            let call = try await admin.call("GET", "/api/register")
            #expect(call.status == 404)
        }
    }
}
