import GatewayTesting
import NotifyBackend
import Testing

@Suite("Sends with an idempotency key over a restart", .timeLimit(.minutes(5))) struct KeyedSendRestartTests {
    private static let handle = String(repeating: "B0", count: 32)

    private static func send(_ key: String, at client: RawClient) async throws -> RawClient.Response {
        let request = RawClient.request(
            "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""once""#)
        return try await client.send(request.replacing("\r\nHost: ", with: "\r\nIdempotency-Key: \(key)\r\nHost: "))
    }

    @Test("A send is replayed after a restart, also if an operator has revoked its user meanwhile")
    func revoked() async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { port in
            let directory = try TestFiles.ofGateway(
                """
                backend: { url: "http://127.0.0.1:\(port)", profile: classic }
                authenticators: [{ static-users: { file: users.yaml } }, { hmac-token: { keys: token-keys.yaml } }]
                """)
            try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
            _ = try await ServedProgram.run(in: directory) { gateway async throws in
                #expect(try await gateway.client.register("bob", "apns", Self.handle).status == 200)
                #expect(try await Self.send("first", at: gateway.client).status == 200)
                #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
                let revoked = try await gateway.command("tokens", "revoke", "--user", "alice")
                #expect(revoked.status == 0, "\(revoked.errors)")
            }
            let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
                for (key, isReplayed) in [("first", true), ("second", false), ("second", true)] {
                    let response = try await Self.send(key, at: gateway.client)
                    #expect(response.status == 200)
                    #expect(response.field("Idempotency-Replayed") == (isReplayed ? "true" : nil), "\(key)")
                }
            }
            #expect(status == 0)
            #expect(hub.inbox(ofHandle: Self.handle).count == 2)
        }
    }
}
