import GatewayCore
import GatewaySupport
import HMACToken
import OIDC
import StaticUsers
import Testing

@testable import GatewayConfiguration

@Suite("Users of two issuers")
struct DistinctUsersTests {
    /// Returns the problems of two providers with these scopes.
    private func problems(_ first: String, _ second: String) -> [ConfigurationProblem] {
        let text = """
            backend: { url: "http://127.0.0.1:5000" }
            authenticators:
              - static-users: { file: users.yaml, users: [admin] }
              - hmac-token: { keys: token-keys.yaml }
              - oidc: { issuer: "https://one.example.com", audience: notify\(first) }
              - oidc: { issuer: "https://two.example.com", audience: notify\(second) }
            policy: { send: [{ from: "*", to: "*" }] }
            """
        return ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "/nowhere",
            catalog: PluginCatalog([StaticUsersPlugin.self, HMACTokenPlugin.self, OIDCPlugin.self]), environment: [:]
        ).problems.filter { $0.path == "authenticators[3].oidc" && $0.message.contains("same names") }
    }

    @Test("Two issuers share no user, unless the configuration names the users of both")
    func issuers() {
        for (first, second) in [("", ""), (", users: [\"emp-*\"]", ""), ("", ", users: [\"emp-*\"]")] {
            #expect(problems(first, second).contains { $0.severity == .error && $0.message.contains("[2].oidc") })
        }
        #expect(problems(", users: [\"emp-*\"]", ", users: [\"ext-*\"]").isEmpty)
        // Names that the operator lists twice are one user on purpose.
        #expect(problems(", users: [\"emp-*\"]", ", users: [\"emp-1\"]").isEmpty)
    }
}
