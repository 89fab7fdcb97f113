import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("The console in the configuration")
struct ConsoleProblemTests {
    private func read(
        _ console: String
    ) -> (section: ServerConfiguration.ConsoleSection?, problems: [String]) {
        let (configuration, problems) = ConfigurationFile.read(
            """
            backend: { url: "http://127.0.0.1:5000" }
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: "*" }] }
            \(console)
            """, file: "gateway.yaml", directory: "/etc/gateway", catalog: PluginCatalog([FixedPlugin.self]))
        return (configuration?.console, problems.map { String($0.description) })
    }

    @Test("Without the section there is no console")
    func absent() {
        let (section, problems) = read("")
        #expect(section == nil && problems.isEmpty)
    }

    @Test("Address, certificate, origin and users are read")
    func complete() throws {
        let (section, problems) = read(
            """
            console:
              address: "0.0.0.0:8443"
              tls: { certificate: console.pem, key: console.key }
              origin: https://console.example.com:8443
              viewers: ["group:support"]
              operators: [Alice]
              self-service: true
            """)
        #expect(problems.isEmpty)
        let console = try #require(section)
        #expect(console.address == .tcp(host: "0.0.0.0", port: 8443))
        #expect(
            console.tls
                == TLSFiles(certificate: "/etc/gateway/console.pem", key: "/etc/gateway/console.key"))
        #expect(console.origin?.description == "https://console.example.com:8443")
        #expect(console.origin?.authority == "console.example.com:8443")
        #expect(console.viewers == [.group(try #require(GroupName("support")))])
        #expect(console.operators == [.user(try #require(UserName(canonical: "alice")))])
        #expect(console.isSelfService)
    }

    @Test(
        "A mistake is reported with its place",
        arguments: [
            ("{ operators: [alice] }", "console: \"address\" is missing"),
            ("{ address: \"127.0.0.1:8090\" }", "console.operators: is missing; name the users"),
            ("{ address: \"127.0.0.1:8090\", viewers: [\"*\"] }", "console.viewers: \"*\" would let every user see"),
            ("{ address: \"127.0.0.1:8080\", operators: [a] }", "console.address: 127.0.0.1:8080 is already used"),
            ("{ address: \"127.0.0.1:9090\", operators: [a] }", "console.address: 127.0.0.1:9090 is already used"),
            ("{ address: \"0.0.0.0:8090\", operators: [a] }", "console.address: other machines can reach the console"),
            ("{ address: \"unix:/run/c\", operators: [a] }", "console.address: must be an IP address"),
            (
                "{ address: \"127.0.0.1:8090\", operators: [a], origin: \"http://console.example.com\" }",
                "console.origin: \"http://console.example.com\" is not an origin"
            ),
            (
                "{ address: \"127.0.0.1:8090\", operators: [a], origin: \"https://h/path\" }",
                "console.origin: \"https://h/path\" is not an origin"
            ),
            (
                "{ address: \"127.0.0.1:8090\", operators: [a], tls: { certificate: c, key: k, clients: { ca: x } } }",
                "console.tls.clients"
            ),
        ])
    func mistakes(_ console: String, _ problem: String) {
        let (_, problems) = read("console: \(console)")
        #expect(problems.contains { $0.contains(problem) }, "\(problems)")
    }
}
