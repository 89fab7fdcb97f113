import GatewayCore
import GatewaySupport
import GatewayTesting
import OutboundHTTP
import Testing
import TraceExport

@testable import GatewayConfiguration

@Suite("Tracing in the configuration")
struct TracingProblemTests {
    private func read(
        _ tracing: String, environment: [String: String] = [:]
    ) -> (section: ServerConfiguration.TracingSection?, problems: [String]) {
        let (configuration, problems) = ConfigurationFile.read(
            "\(ConfigurationText.good)\(tracing)", file: "gateway.yaml", directory: "/etc/x",
            catalog: PluginCatalog([FixedPlugin.self]), environment: environment)
        return (configuration?.tracing, problems.map(\.description))
    }

    @Test("Without the section there is no tracing")
    func off() {
        let (section, problems) = read("")
        #expect(section == nil && problems.isEmpty)
    }

    @Test("The endpoint alone gets the defaults")
    func defaults() throws {
        let (section, problems) = read("tracing: { endpoint: \"http://127.0.0.1:4318/v1/traces\" }")
        #expect(problems.isEmpty, "\(problems)")
        let expected = ServerConfiguration.TracingSection(
            sampling: TraceSampling(ratio: 0.01, followsParent: true),
            export: TraceExportSettings(
                endpoint: try EndpointURL("http://127.0.0.1:4318/v1/traces"), service: "notify-gateway"))
        #expect(section == expected)
    }

    @Test("All settings are read, a secret from the environment")
    func all() throws {
        let (section, problems) = read(
            """
            tracing:
              endpoint: "https://collector.example.org:4318/v1/traces"
              ca: ca.pem
              headers: { authorization: "Bearer ${COLLECTOR_TOKEN}", x-tenant: "one two" }
              sample: 1
              follow-parent: false
              service: edge

            """, environment: ["COLLECTOR_TOKEN": "abc"])
        #expect(problems.isEmpty, "\(problems)")
        let expected = ServerConfiguration.TracingSection(
            sampling: TraceSampling(ratio: 1, followsParent: false),
            export: TraceExportSettings(
                endpoint: try EndpointURL("https://collector.example.org:4318/v1/traces"), authority: "/etc/x/ca.pem",
                headers: [
                    .init("authorization", Secret("Bearer abc".utf8)), .init("x-tenant", Secret("one two".utf8)),
                ], service: "edge"))
        #expect(section == expected)
    }

    @Test(
        "A mistake is reported with its place",
        arguments: [
            ("{}", "tracing: \"endpoint\" is missing"),
            (
                "{ endpoint: \"http://collector.example.org/v1/traces\" }",
                "tracing.endpoint: must begin with https://; http:// is possible only to a loopback address of this machine"
            ),
            ("{ endpoint: \"https://a:b@x/\" }", "tracing.endpoint: must not contain a user or password"),
            ("{ endpoint: \"https://x/\", sample: 1.5 }", "tracing.sample: must be a number from 0 to 1, such as 0.01"),
            ("{ endpoint: \"https://x/\", sample: -0 }", "tracing.sample: must be a number from 0 to 1, such as 0.01"),
            ("{ endpoint: \"https://x/\", sample: nan }", "tracing.sample: must be a number from 0 to 1, such as 0.01"),
            ("{ endpoint: \"https://x/\", sample: 1% }", "tracing.sample: must be a number from 0 to 1, such as 0.01"),
            ("{ endpoint: \"https://x/\", follow-parent: 1 }", "tracing.follow-parent: must be true or false"),
            ("{ endpoint: \"https://x/\", service: \"\" }", "tracing.service: must not be empty"),
            (
                "{ endpoint: \"https://x/\", service: \"a b\" }",
                "tracing.service: must be at most 128 visible ASCII characters"
            ),
            (
                "{ endpoint: \"https://x/\", headers: { Content-Type: x } }",
                "tracing.headers.Content-Type: is not a usable header field name"
            ),
            (
                "{ endpoint: \"https://x/\", headers: { \"a b\": x } }",
                "tracing.headers.a b: is not a usable header field name"
            ),
            (
                "{ endpoint: \"https://x/\", headers: { key: \"a\\r\\nb: c\" } }",
                "tracing.headers.key: must be 1 to 4096 visible ASCII characters, because it is sent in a header field"
            ),
            (
                "{ endpoint: \"https://x/\", headers: { key: a, Key: b } }",
                "tracing.headers.Key: is a duplicate; names are not case-sensitive"
            ),
            (
                "{ endpoint: \"https://x/\", headers: { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1 } }",
                "tracing.headers: must have at most 8 fields"
            ),
            ("{ endpoint: \"https://x/\", ca: }", "tracing.ca: must not be empty"),
        ])
    func mistakes(tracing: String, problem: String) {
        let (_, problems) = read("tracing: \(tracing)\n")
        #expect(problems.count == 1 && problems.first?.hasSuffix(problem) == true, "\(problems)")
    }
}
