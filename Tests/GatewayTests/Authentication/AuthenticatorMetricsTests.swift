import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Metrics of the password cache")
struct AuthenticatorMetricsTests {
    /// An authenticator that knows some users' passwords and passes on the others.
    private struct Knowing: Authenticator {
        let name: PluginName
        let passwords: [String: String]

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            guard case .password(let login, let password) = credential, let good = passwords[login.text] else {
                return .notMine
            }
            guard password.withUnsafeBytes({ $0.elementsEqual(good.utf8) }) else { return .rejected(.wrong) }
            return .accepted(Identity(user: .test(login.text), authenticator: name))
        }
    }

    private let metrics = CallMetrics()

    private func count(_ authenticator: String, _ result: String) throws -> Double {
        let family = try #require(
            metrics.families.first { $0.name == "notify_gateway_password_cache_lookups_total" })
        let value = family.values.first { labels, _ in labels.map(\.value) == [authenticator, result] }?.value
        guard case .number(let number)? = value else { throw NotCounted() }
        return number
    }

    private struct NotCounted: Error {}

    @Test("A cache lookup counts for the authenticator that decided")
    func counts() async throws {
        let gateway = TestGateway(asking: CountingAuthenticator([:])) { rules in
            let all = [
                Knowing(name: "first", passwords: ["alice": "good"]),
                Knowing(name: "second", passwords: ["bob": "good"]),
            ]
            rules.authenticators = AuthenticatorChain(
                all.map {
                    .init(
                        name: $0.name, credentialKinds: [.password], authenticator: $0,
                        metrics: metrics.authenticator($0.name))
                })
        }
        for _ in 0..<3 { #expect(await gateway.login("alice", "good") == 200) }
        for _ in 0..<2 { #expect(await gateway.login("bob", "wrong") == 401) }
        // A user whom no authenticator knows counts for none.
        for _ in 0..<2 { #expect(await gateway.login("carol", "good") == 401) }
        #expect(try count("first", "miss") == 1)
        #expect(try count("first", "hit") == 2)
        #expect(try count("second", "miss") == 1)
        #expect(try count("second", "hit") == 1)
    }
}
