import ClientCertificate
import ExternalProcess
import ForwardAuth
import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import HMACToken
import LDAP
import OIDC
import PAM
import StaticUsers
import Testing

@testable import GatewayConfiguration

@Suite("Shipped configuration examples")
struct ExampleTests {
    private static let folder = TestData.package.appending(path: "deploy/examples")

    private static func files(_ folder: URL) -> [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path())) ?? []
        return names.filter { $0.hasSuffix(".yaml") }.sorted().map { folder.appending(path: $0) }
    }

    private static func problems(in file: URL) throws -> [ConfigurationProblem] {
        ConfigurationFile.read(
            try String(contentsOf: file, encoding: .utf8), file: file.lastPathComponent, directory: folder.path(),
            catalog: PluginCatalog([
                StaticUsersPlugin.self, HMACTokenPlugin.self, PAMPlugin.self, LDAPPlugin.self,
                ExternalProcessPlugin.self, ForwardAuthPlugin.self, ClientCertificatePlugin.self, OIDCPlugin.self,
            ]),
            environment: [
                "BACKEND_PASSWORD": "example", "BACKEND_SECRET": "example", "LDAP_PASSWORD": "example",
                "STATUS_TOKEN": "0123456789abcdef", "ARCHIVE_KEY_ID": "key", "ARCHIVE_SECRET": "secret",
                "ARCHIVE_TOKEN": "token", "WEBHOOK_SECRET": String(repeating: "k", count: 32),
                "COLLECTOR_TOKEN": "example", "STORE_PASSWORD": "example",
                "HUB_CONNECTION_STRING":
                    "Endpoint=sb://example.servicebus.windows.net/;SharedAccessKeyName=Send;SharedAccessKey=0123456789abcdef",
            ]
        ).problems.filter { $0.severity == .error }
    }

    @Test("Each valid example loads without an error")
    func valid() throws {
        let files = Self.files(Self.folder)
        #expect(files.count >= 3)
        for file in files { #expect(try Self.problems(in: file) == [], "\(file.lastPathComponent)") }
    }

    @Test("Each invalid example is rejected with the problem that it names")
    func invalid() throws {
        let files = Self.files(Self.folder.appending(path: "invalid"))
        #expect(files.count >= 3)
        for file in files {
            // The first line is `# problem at PATH: description`, where `root` is the entire file.
            let line = try String(contentsOf: file, encoding: .utf8).prefix { $0 != "\n" }
            let named = try #require(line.firstMatch(of: /^. problem at ([^ ]+):/)?.1, "\(file.lastPathComponent)")
            let paths = try Self.problems(in: file).map { $0.path.isEmpty ? "root" : $0.path }
            #expect(paths == [String(named)], "\(file.lastPathComponent)")
        }
    }
}
