import GatewayCore
import GatewaySupport
import OIDC
import Testing

@testable import GatewayConfiguration

@Suite("Logins to the console at an identity provider")
struct BrowserLoginProblemTests {
    /// Returns the problems of a provider with a login and of the console, with their paths.
    private func problems(_ console: String, second: String = "") -> [String] {
        let text = """
            backend: { url: "http://127.0.0.1:5000" }
            authenticators:
              - oidc: { issuer: "https://a.example", audience: notify, users: ["a-*"], login: { client: console } }
            \(second)
            policy: { send: [{ from: "*", to: "*" }] }
            \(console)
            """
        return ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "/nowhere", catalog: PluginCatalog([OIDCPlugin.self]),
            environment: [:]
        ).problems.filter { $0.path.contains("console") || $0.path.contains("login") }
            .map { "\($0.severity.rawValue) \($0.path): \($0.message)" }
    }

    @Test("A login without a console has no effect")
    func withoutConsole() {
        #expect(
            problems("") == [
                "warning authenticators[0].oidc.login: has no effect: no console is configured"
            ])
        #expect(problems("console: { address: \"127.0.0.1:0\", operators: [a-1] }") == [])
    }

    @Test("A console beyond this machine needs its origin, to which the provider redirects")
    func origin() {
        let tls = "address: \"0.0.0.0:8500\", tls: { certificate: c.pem, key: k.pem }, operators: [a-1]"
        #expect(problems("console: { \(tls) }").map { $0.prefix(31) } == ["error console.origin: is missin"])
        #expect(problems("console: { \(tls), origin: \"https://console.example.com\" }") == [])
    }

    @Test("The first provider serves the console")
    func twice() {
        let second =
            "  - oidc: { issuer: \"https://b.example\", audience: notify, users: [\"b-*\"], login: { client: console } }"
        let found = problems("console: { address: \"127.0.0.1:0\", operators: [a-1] }", second: second)
        #expect(
            found == [
                "warning authenticators[1].oidc.login: has no effect: users log in to the console at the provider of "
                    + "authenticators[0].oidc"
            ])
    }
}
