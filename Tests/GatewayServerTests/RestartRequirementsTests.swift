import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration
@testable import GatewayServer

@Suite("Settings that need a restart")
struct RestartRequirementsTests {
    private static let base = """
        listen: [{ address: "127.0.0.1:8080" }]
        admin: { address: "127.0.0.1:9090" }
        control: control.sock
        backend: { url: "http://127.0.0.1:5000" }
        authenticators: [{ fixed: {} }]
        policy: { send: [] }
        identity: { escape: refuse }
        journal: { directory: journal, signing-key: key, checkpoint-copy: syslog, keep: 90d, minimum-free: 1, keep-size: 1GiB }
        ledger: { file: ledger, registrations-per-user: 20 }
        log: { level: info, format: json }
        drain: { grace: 5s }
        limits: []
        event-loops: 2
        overload: { calls: 4096 }
        connections: { per-address: 200 }
        """

    private func configuration(_ text: String) throws -> ServerConfiguration {
        let (configuration, problems) = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "/etc/none", catalog: PluginCatalog([FixedPlugin.self]))
        return try #require(configuration, "\(problems)")
    }

    @Test(
        "A change of this setting needs a restart",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1:8081", "listen"), ("127.0.0.1:9090", "127.0.0.1:9091", "admin.address"),
            ("control.sock", "other.sock", "control"), (#""http://127.0.0.1:5000""#, "embedded", "backend.url"),
            ("escape: refuse", "escape: hex", "identity"),
            ("directory: journal", "directory: other", "journal.directory"),
            ("signing-key: key", "signing-key: other", "journal.signing-key"),
            ("checkpoint-copy: syslog", "checkpoint-copy: copy", "journal.checkpoint-copy"),
            ("file: ledger", "file: other", "ledger.file"), ("format: json", "format: text", "log.format"),
            ("event-loops: 2", "event-loops: 3", "event-loops"), ("calls: 4096", "calls: 10", "overload.calls"),
            ("per-address: 200", "per-address: 10", "connections"),
        ])
    func needed(_ before: String, _ after: String, _ path: String) throws {
        let needs = RestartRequirements(
            from: try configuration(Self.base), to: try configuration(Self.base.replacing(before, with: after)))
        #expect(needs.paths == [path])
    }

    @Test(
        "A change of this setting needs no restart",
        arguments: [
            ("5000", "5001"), ("send: []", #"send: [{ from: "*", to: "*" }]"#), ("keep: 90d", "keep: 30d"),
            ("minimum-free: 1", "minimum-free: 2"), ("keep-size: 1GiB", "keep-size: 2GiB"),
            ("registrations-per-user: 20", "registrations-per-user: 3"), ("level: info", "level: debug"),
            ("grace: 5s", "grace: 1s"), ("limits: []", "limits: [{ name: a, per: user, rate: 1/s }]"),
            ("limits: []", "limits: []\ntracing: { endpoint: \"https://collector.example.org/v1/traces\" }"),
        ])
    func notNeeded(_ before: String, _ after: String) throws {
        let needs = RestartRequirements(
            from: try configuration(Self.base), to: try configuration(Self.base.replacing(before, with: after)))
        #expect(needs.paths.isEmpty)
    }

    @Test("A problem has the position of its value") func positionOfTheValue() throws {
        let files = try TestFiles()
        let file = try files.write(Self.base.replacing("file: ledger", with: "file: other"), to: "gateway.yaml")
        let source = ConfigurationSource(file: file, catalog: PluginCatalog([FixedPlugin.self]))
        #expect(source.location(of: "ledger.file") == SourceLocation(file: file, line: 9, column: 11))
        #expect(source.location(of: "ledger.missing") == SourceLocation(file: file, line: 9, column: 1))
        #expect(source.location(of: "missing") == SourceLocation(file: file))
    }
}
