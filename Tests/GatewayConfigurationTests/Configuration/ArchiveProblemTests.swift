import GatewayCore
import GatewaySupport
import GatewayTesting
import OutboundHTTP
import SegmentArchive
import Testing

@testable import GatewayConfiguration

@Suite("The archive in the configuration")
struct ArchiveProblemTests {
    private static let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    private static let good = [
        "endpoint": "\"https://s3.example.org\"", "region": "eu-central-1", "bucket": "audit",
        "prefix": "node-a/journal",
        "access-key-id": "AKIAIOSFODNN7EXAMPLE", "secret-access-key": secret,
    ]

    private func read(_ archive: String) -> (archive: ArchiveSettings?, problems: [String]) {
        let (configuration, problems) = ConfigurationFile.read(
            "\(ConfigurationText.good)journal: { directory: /var/j, archive: \(archive) }", file: "gateway.yaml",
            directory: "/etc/x", catalog: PluginCatalog([FixedPlugin.self]), environment: [:])
        return (configuration?.journal.archive, problems.map(\.description))
    }

    /// Returns the section with other values; nil removes a key.
    private func section(_ changes: [String: String?]) -> String {
        var values = Self.good
        for (name, value) in changes { values[name] = value }
        return "{ s3: { \(values.map { "\($0.key): \($0.value)" }.joined(separator: ", ")) } }"
    }

    @Test("The settings are read, and path-style is the default")
    func settings() throws {
        func expected(_ token: Secret?, _ authority: String?, path: Bool) throws -> ArchiveSettings {
            ArchiveSettings(
                .init(
                    endpoint: try EndpointURL("https://s3.example.org"), region: "eu-central-1", bucket: "audit",
                    prefix: "node-a/journal", usesPathStyle: path),
                .init(
                    accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: Secret(Self.secret.utf8), sessionToken: token),
                authority: authority)
        }
        let plain = read(section([:]))
        #expect(plain.problems.isEmpty, "\(plain.problems)")
        #expect(plain.archive == (try expected(nil, nil, path: true)))
        let other = read(section(["session-token": "t==", "ca": "ca.pem", "path-style": "false"]))
        #expect(other.problems.isEmpty, "\(other.problems)")
        #expect(other.archive == (try expected(Secret("t==".utf8), "/etc/x/ca.pem", path: false)))
        #expect(read("{}").archive == nil)
    }

    @Test(
        "A mistake is reported with its place, and no message contains the secret",
        arguments: [
            ("endpoint", "\"http://s3.example.org\"", "must begin with https://"),
            ("endpoint", "\"https://s3.example.org/audit\"", "must have no path and no query"),
            ("endpoint", "\"https://s3.example.org?x\"", "must have no path and no query"),
            ("endpoint", "\"https://u:p@s3.example.org\"", "must not contain a user"),
            ("region", "\"EU Central\"", "is not a region"), ("bucket", "Audit", "is not the name of a bucket"),
            ("bucket", "a..b", "is not the name of a bucket"), ("prefix", "/a", "is not a prefix"),
            ("prefix", "a/", "is not a prefix"), ("prefix", "a/../b", "is not a prefix"),
            ("prefix", "\"a b\"", "is not a prefix"), ("access-key-id", "\"a/b\"", "is not the id of an access key"),
            ("secret-access-key", "\"a b\"", "must be visible ASCII characters"),
            ("session-token", "\"a b\"", "must be visible ASCII characters"),
        ] as [(String, String, String)])
    func mistakes(name: String, value: String, problem: String) {
        let problems = read(section([name: value])).problems
        #expect(
            problems.contains { $0.contains("journal.archive.s3.\(name): ") && $0.contains(problem) }, "\(problems)")
        #expect(!problems.contains { $0.contains(Self.secret) })
    }

    @Test("A missing or unknown key is reported", arguments: good.keys.sorted())
    func missing(name: String) {
        let problems = read(section([name: String?.none])).problems
        #expect(problems.contains { $0.contains("journal.archive.s3: \"\(name)\" is missing") }, "\(problems)")
    }

    @Test("Other kinds and keys are reported, and a bucket's name in the host must suit a certificate")
    func others() {
        for (section, problem) in [
            ("{}", "journal.archive: \"s3\" is missing"), ("{ gcs: {} }", "journal.archive.gcs"),
            (section(["acl": "x"]), "journal.archive.s3.acl"),
            (
                section(["bucket": "a.b", "path-style": "false"]),
                "journal.archive.s3.path-style: must be true: no certificate"
            ),
            (
                section(["endpoint": "\"http://127.0.0.1:9000\"", "path-style": "false"]),
                "journal.archive.s3.path-style: must be true for a loopback address"
            ),
        ] {
            let problems = read(section).problems
            #expect(problems.contains { $0.contains(problem) }, "\(problems)")
        }
    }
}
