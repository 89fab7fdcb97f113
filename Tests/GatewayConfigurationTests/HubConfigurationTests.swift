import Gateway
import GatewayCore
import GatewayHTTP
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("A notification hub in the configuration")
struct HubConfigurationTests {
    private static let key = "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1sb25nLi4uLi4="

    private static func connection(
        _ endpoint: String = "sb://contoso.servicebus.windows.net/", name: String = "Send"
    )
        -> String
    {
        "Endpoint=\(endpoint);SharedAccessKeyName=\(name);SharedAccessKey=\(key)"
    }

    private func read(_ backend: String) -> (ServerConfiguration.BackendSection?, [ConfigurationProblem]) {
        let text = """
            backend: \(backend)
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: "*" }] }
            """
        let (configuration, problems) = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]))
        return (configuration?.backend, problems)
    }

    @Test("A connection string and a name are enough")
    func minimal() throws {
        let (backend, problems) = read("{ hub: { connection-string: \"\(Self.connection())\", name: news } }")
        #expect(problems.isEmpty)
        let read = try #require(backend)
        let hub = try #require(read.hub)
        #expect(hub.name == "news" && hub.apiVersion == "2020-06" && hub.connection.keyName == "Send")
        #expect(read.address == .remote(.tls(host: "contoso.servicebus.windows.net", port: 443)))
        #expect(read.tls != nil && read.profile.backend == .hub)
        #expect(read.profile.client == BackendProfile(.classic).client)
    }

    @Test("Only a hub on this machine is reached without TLS")
    func local() throws {
        let hub = "{ connection-string: \"\(Self.connection("sb://127.0.0.1:5600"))\", name: news }"
        #expect(read("{ hub: \(hub) }").0?.address == .remote(.tcp(host: "127.0.0.1", port: 5600)))
        #expect(read("{ hub: \(hub), tls: {} }").0?.address == .remote(.tls(host: "127.0.0.1", port: 5600)))
    }

    @Test("All settings are read, and the clients' profile can be set")
    func everything() throws {
        let (backend, problems) = read(
            """
            { hub: { connection-string: "\(Self.connection())", name: news, api-version: 2015-01,
              payloads: { apns: '{"aps":{"alert":"{message}"}}' },
              apns: { push-type: background, priority: 5, collapse-id: x, lifetime: 1h } }, profile: core }
            """)
        #expect(problems.isEmpty)
        let read = try #require(backend)
        #expect(read.hub?.apiVersion == "2015-01" && read.hub?.apns.pushType == "background")
        #expect(read.hub?.apns.priority == 5 && read.hub?.apns.collapseID == "x")
        #expect(read.hub?.apns.lifetime == .seconds(3600))
        #expect(read.profile.client == BackendProfile(.core).client)
    }

    @Test("A key with full access is a warning, another host and other settings are errors, and no message has the key")
    func mistakes() {
        let cases: [(String, String)] = [
            ("{ hub: {} }", "connection-string"),
            ("{ hub: { connection-string: x, name: news } }", "connection-string"),
            (
                "{ hub: { connection-string: \"\(Self.connection("sb://evil.example"))\", name: n } }",
                "outside of Azure"
            ),
            (
                "{ hub: { connection-string: \"\(Self.connection("sb://servicebus.windows.net"))\", name: n } }",
                "outside of Azure"
            ),
            ("{ hub: { connection-string: \"\(Self.connection())\", name: a/b } }", "name"),
            ("{ hub: { connection-string: \"\(Self.connection())\", name: '..' } }", "name"),
            ("{ hub: { connection-string: \"\(Self.connection())\", name: n, api-version: 1 } }", "api-version"),
            ("{ hub: { connection-string: \"\(Self.connection())\", name: n, colour: 1 } }", "colour"),
            (
                "{ hub: { connection-string: \"\(Self.connection())\", name: n, payloads: { apns: '{message}' } } }",
                "payloads.apns"
            ),
            ("{ hub: { connection-string: \"\(Self.connection())\", name: n, apns: { priority: 7 } } }", "priority"),
            ("{ hub: { connection-string: \"\(Self.connection())\", name: n }, url: embedded }", "backend.url"),
            ("{ hub: { connection-string: \"\(Self.connection())\", name: n }, credential: mirror }", "credential"),
            (
                "{ hub: { connection-string: \"\(Self.connection())\", name: n }, profile: { from: core, backend: {} } }",
                "profile"
            ),
        ]
        for (text, expected) in cases {
            let (backend, problems) = read(text)
            #expect(backend == nil && problems.contains { "\($0)".contains(expected) }, "\(text): \(problems)")
            #expect(!problems.contains { "\($0)".contains(Self.key) })
        }
        let full = "\(Self.connection(name: "DefaultFullSharedAccessSignature"))"
        let (backend, problems) = read("{ hub: { connection-string: \"\(full)\", name: news } }")
        #expect(backend != nil && problems.map(\.severity) == [.warning])
    }
}
