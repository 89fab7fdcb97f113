import AuditSinks
import GatewayCore
import GatewaySupport
import GatewayTesting
import OutboundHTTP
import Testing

@testable import GatewayConfiguration

@Suite("Audit sinks in the configuration")
struct SinkProblemTests {
    private static let secret = String(repeating: "k", count: 32)

    private func read(
        _ sinks: String, directory: String = "/etc/x"
    ) -> (sinks: [AuditSinkSettings]?, problems: [String]) {
        let (configuration, problems) = ConfigurationFile.read(
            "\(ConfigurationText.good)journal: { directory: /var/j, sinks: [\(sinks)] }", file: "gateway.yaml",
            directory: directory, catalog: PluginCatalog([FixedPlugin.self]), environment: [:])
        return (configuration?.journal.sinks, problems.map(\.description))
    }

    @Test("Each kind is read with its defaults and its settings")
    func kinds() throws {
        let (sinks, problems) = read(
            """
            { name: a, syslog: { address: "logs.example.org:6514", ca: ca.pem, server-name: x.org, facility: local3 } },
            { name: b, start: oldest, syslog: { address: "unix:/dev/log", socket: stream } },
            { name: c, webhook: { url: "https://x.org/", secret: \(Self.secret), timeout: 5s, records: 9 } },
            { name: d, file: { path: out.jsonl } }
            """)
        #expect(problems.isEmpty, "\(problems)")
        let webhook = WebhookSettings(
            url: try EndpointURL("https://x.org/"), secret: Secret(Self.secret.utf8), timeout: .seconds(5), records: 9)
        #expect(
            sinks == [
                AuditSinkSettings(
                    name: "a",
                    target: .syslog(
                        SyslogSettings(
                            address: .tls(host: "logs.example.org", port: 6514), facility: .local3,
                            authority: "/etc/x/ca.pem", serverName: "x.org"))),
                AuditSinkSettings(
                    name: "b", target: .syslog(SyslogSettings(address: .stream(path: "/dev/log"))), start: .oldest),
                AuditSinkSettings(name: "c", target: .webhook(webhook)),
                AuditSinkSettings(name: "d", target: .file("/etc/x/out.jsonl")),
            ])
    }

    @Test(
        "A mistake is reported with its place",
        arguments: [
            ("{ name: a }", "journal.sinks[0]: must have exactly one of: syslog, webhook, file"),
            ("{ file: { path: /x } }", "journal.sinks[0]: \"name\" is missing"),
            ("{ name: a, file: {} }", "journal.sinks[0].file: \"path\" is missing"),
            (
                "{ name: a, file: { path: /var/j/x } }",
                "journal.sinks[0].file.path: must be outside the journal's directory"
            ),
            (
                "{ name: a, file: { path: /var/j.sink-a } }",
                "journal.sinks[0].file.path: /var/j.sink-a is already the file of the position of a"
            ),
            (
                "{ name: a, syslog: { address: \"logs:6514\", server-name: 10.0.0.1 } }",
                "journal.sinks[0].syslog.server-name: must be the name of a host, not an address"
            ),
            (
                "{ name: a, file: { path: /var/j.key } }",
                "journal.sinks[0].file.path: /var/j.key is already the file of signing-key"
            ),
            (
                "{ name: a, start: later, file: { path: /x } }",
                "journal.sinks[0].start: \"later\" is not one of: now, oldest"
            ),
            (
                "{ name: a, file: { path: /x } }, { name: a, file: { path: /y } }",
                "journal.sinks[1].name: \"a\" is already the name of another sink"
            ),
            (
                "{ name: a, file: { path: /x } }, { name: b, file: { path: /x } }",
                "journal.sinks[1]: has the same kind and address as another sink"
            ),
            ("{ name: a, syslog: { address: x } }", "journal.sinks[0].syslog.address: \"x\" is not an address"),
            (
                "{ name: a, syslog: { address: \"x.org:1\", socket: stream } }",
                "journal.sinks[0].syslog.socket: applies only to a Unix socket"
            ),
            (
                "{ name: a, syslog: { address: \"unix:/x\", ca: y } }",
                "journal.sinks[0].syslog.ca: applies only to a connection with TLS"
            ),
            (
                "{ name: a, webhook: { url: \"http://x.org/\", secret: \(secret) } }",
                "journal.sinks[0].webhook.url: must begin with https://"
            ),
            (
                "{ name: a, webhook: { url: \"https://x.org/\", secret: short } }",
                "journal.sinks[0].webhook.secret: must have at least 32 bytes"
            ),
            ("{ name: a, webhook: { url: \"https://x.org/\", secret: \"${file:none}\" } }", "none does not exist"),
        ])
    func mistakes(sinks: String, problem: String) {
        let problems = read(sinks).problems
        #expect(problems.contains { $0.contains(problem) }, "\(problems)")
        #expect(!problems.contains { $0.contains(Self.secret) })
    }

    @Test("A path that cannot be written, a missing socket and a file without certificates are found by the check")
    func check() async throws {
        let directory = try TestFiles()
        try directory.write("no certificate", to: "ca.pem")
        try directory.write(
            """
            \(ConfigurationText.good)ledger: { file: ledger.sqlite }
            control: control.sock
            journal:
              directory: journal
              sinks:
                - { name: a, file: { path: ca.pem/x } }
                - { name: b, syslog: { address: "unix:/nonexistent/log" } }
                - { name: c, webhook: { url: "https://x.org/", secret: \(Self.secret), ca: ca.pem } }
                - { name: d, syslog: { address: "x.org:6514", ca: none.pem } }
            """, to: "gateway.yaml")
        let problems = await ConfigurationCheck.problems(
            of: "\(directory.path)/gateway.yaml", catalog: PluginCatalog([FixedPlugin.self])
        ).map(\.description)
        for expected in [
            "journal.sinks[0].file.path: \(directory.path)/ca.pem is not a directory",
            "journal.sinks[1].syslog.address: /nonexistent/log does not exist",
            "\(directory.path)/ca.pem contains no certificate in PEM", "none.pem: No such file or directory",
        ] {
            #expect(problems.contains { $0.contains(expected) }, "\(expected): \(problems)")
        }
    }
}
