import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import OIDC

@Suite("Exchange of a code for an ID token")
struct CodeExchangeTests {
    @Test(
        "A code that the provider does not accept is rejected; any other response makes logins unavailable",
        arguments: [
            (ScriptedServer.response("400 Bad Request", body: #"{"error":"invalid_grant"}"#), .rejected(.wrong)),
            (
                ScriptedServer.response("401 Unauthorized", body: #"{"error":"invalid_client"}"#),
                .unavailable(.failed)
            ),
            (ScriptedServer.response("400 Bad Request", body: #"{"error":"\u0000"}"#), .unavailable(.failed)),
            (ScriptedServer.response("500 Internal Server Error"), .unavailable(.failed)),
            (
                ScriptedServer.response("307 Temporary Redirect", "Location: http://127.0.0.1:1/token\r\n"),
                .unavailable(.failed)
            ),
            (ScriptedServer.ok("{}"), .unavailable(.failed)), (ScriptedServer.ok("<html>"), .unavailable(.failed)),
            (ScriptedServer.ok(#"{"id_token":7}"#), .unavailable(.failed)),
            (ScriptedServer.ok(#"{"id_token":"a","id_token":"b"}"#), .unavailable(.failed)),
            (ScriptedServer.ok(#"{"id_token":"no token"}"#), .rejected(.malformed)),
            (
                ScriptedServer.ok(#"{"id_token":"\#(String(repeating: "A", count: 16_385))"}"#), .rejected(.malformed)
            ),
            (
                ScriptedServer.ok(#"{"id_token":"\#(String(repeating: "A", count: 131_073))"}"#),
                .unavailable(.failed)
            ),
            ("SSH-2.0-OpenSSH_9.2\r\n", .unavailable(.failed)),
        ] as [(String, AuthenticationOutcome)])
    func responses(_ response: String, _ outcome: AuthenticationOutcome) async throws {
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator()
        login.respond([.write(response), .close])
        #expect(await authenticator.complete() == outcome)
        // Nothing is tried twice: a code is for one use.
        #expect(login.forms.count == 1)
        await login.provider.server.stop()
    }

    @Test("A discovery document without safe endpoints makes logins unavailable, and is read again after five seconds")
    func discovery() async throws {
        let login = try await TestLogin.start()
        login.provider.state.withLock { $0.discovery = { TestLogin.discovery($0, token: "http://192.0.2.1/token") } }
        let authenticator = try await login.authenticator()
        login.redeem()
        for _ in 0..<3 {
            #expect(await authenticator.beginLogin(TestLogin.request()) == .unavailable(.failed))
            #expect(await authenticator.complete() == .unavailable(.failed))
        }
        #expect(login.provider.server.seen.filter { $0.target.hasPrefix("/.well-known") }.count == 2)
        login.provider.state.withLock { $0.discovery = { TestLogin.discovery($0) } }
        login.provider.clock.advance(by: .seconds(5))
        #expect(await authenticator.complete() == identity("alice"))
        // Endpoints that cannot be read again serve for 24 hours.
        login.provider.state.withLock { $0.discovery = { _ in "{}" } }
        login.provider.clock.advance(by: .seconds(23 * 3600))
        login.redeem()
        #expect(await authenticator.complete() == identity("alice"))
        login.provider.clock.advance(by: .seconds(3600))
        #expect(await authenticator.complete() == .unavailable(.failed))
        await login.provider.server.stop()
    }

    @Test("A provider that does not respond costs a login its deadline, and 64 exchanges may be in progress")
    func hanging() async throws {
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator()
        // The endpoints are known beforehand, so that only the exchange hangs.
        _ = await authenticator.beginLogin(TestLogin.request())
        login.respond("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        let outcomes = await withTaskGroup(of: AuthenticationOutcome.self) { group in
            for _ in 0..<80 { group.addTask { await authenticator.complete() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0 == .unavailable(.failed) }.count == CodeFlow.maximumInProgress)
        #expect(outcomes.filter { $0 == .unavailable(.busy) }.count == 80 - CodeFlow.maximumInProgress)
        login.redeem()
        #expect(await authenticator.complete() == identity("alice"))
        await login.provider.server.stop()
    }
}
