import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayConfiguration

@Suite("The store in the configuration")
struct StoreProblemTests {
    private func read(
        _ store: String, environment: [String: String] = [:]
    ) -> (settings: PostgreSQLStore.Settings?, problems: [String]) {
        let (configuration, problems) = ConfigurationFile.read(
            "\(ConfigurationText.good)\(store)", file: "gateway.yaml", directory: "/etc/x",
            catalog: PluginCatalog([FixedPlugin.self]), environment: environment)
        return (configuration?.store, problems.map(\.description))
    }

    @Test("Without the section, the ledger is the SQLite file")
    func off() {
        let (settings, problems) = read("")
        #expect(settings == nil && problems.isEmpty)
    }

    @Test("A socket needs a database and a user only")
    func defaults() throws {
        let (settings, problems) = read(
            "store: { postgresql: { socket: /run/postgresql, database: notify, user: gateway } }")
        #expect(problems.isEmpty, "\(problems)")
        var expected = PostgreSQLSettings(
            address: .unixSocket(directory: "/run/postgresql", port: 5432), database: "notify", user: "gateway")
        expected.schema = "notify_gateway"
        #expect(settings == PostgreSQLStore.Settings(connection: expected, readers: 4))
    }

    @Test("All settings of servers are read, a secret from the environment")
    func all() throws {
        let (settings, problems) = read(
            """
            store:
              postgresql:
                hosts: ["db1.example.org:5432", "[2001:db8::1]:6432"]
                ca: ca.pem
                certificate: client.pem
                key: client.key
                database: notify
                user: gateway
                password: ${STORE_PASSWORD}
                schema: gateway
                connections: 8
                timeout: 2s

            """, environment: ["STORE_PASSWORD": "abc"])
        #expect(problems.isEmpty, "\(problems)")
        var expected = PostgreSQLSettings(
            address: .hosts(
                [.init("db1.example.org", port: 5432), .init("2001:db8::1", port: 6432)],
                authorities: .file("/etc/x/ca.pem"),
                clientCertificate: .init(certificatePath: "/etc/x/client.pem", keyPath: "/etc/x/client.key")),
            database: "notify", user: "gateway", password: Secret("abc".utf8))
        expected.schema = "gateway"
        expected.connectTimeout = .seconds(2)
        expected.statementTimeout = .seconds(2)
        #expect(settings == PostgreSQLStore.Settings(connection: expected, readers: 8))
    }

    @Test(
        "Settings that no connection can be made from are reported",
        arguments: [
            ("store: {}", "\"postgresql\" is missing"),
            ("store: { postgresql: { database: a, user: b } }", "\"hosts\" or \"socket\" is missing"),
            ("store: { postgresql: { socket: /s, hosts: [\"a:1\"], database: a, user: b } }", "exclude each other"),
            ("store: { postgresql: { hosts: [], database: a, user: b } }", "must have 1 to 8 servers"),
            ("store: { postgresql: { hosts: [a], database: a, user: b } }", "is not a host with a port"),
            ("store: { postgresql: { hosts: [\"a:0\"], database: a, user: b } }", "is not a host with a port"),
            ("store: { postgresql: { hosts: [\"a,b:1\"], database: a, user: b } }", "is not a host with a port"),
            ("store: { postgresql: { hosts: [\"/run:1\"], database: a, user: b } }", "is not a host with a port"),
            ("store: { postgresql: { hosts: [\"::1:5\"], database: a, user: b } }", "is not a host with a port"),
            ("store: { postgresql: { hosts: [\"a:1\"], port: 5, database: a, user: b } }", "belongs to \"socket\""),
            ("store: { postgresql: { socket: /s, ca: x, database: a, user: b } }", "has no effect with \"socket\""),
            ("store: { postgresql: { hosts: [\"a:1\"], key: x, database: a, user: b } }", "needs \"certificate\""),
            ("store: { postgresql: { socket: /s, user: b } }", "\"database\" is missing"),
            ("store: { postgresql: { socket: /s, database: a } }", "\"user\" is missing"),
            ("store: { postgresql: { socket: /s, database: a, user: b, password: \"\" } }", "1 to 1024 bytes"),
            ("store: { postgresql: { socket: /s, database: a, user: b, timeout: 5min } }", "from 1s to 1min"),
        ])
    func problems(_ store: String, _ expected: String) {
        let (_, problems) = read(store)
        #expect(problems.contains { $0.contains(expected) }, "\(problems)")
    }
}
