import GatewayCore
import GatewayTesting
import Testing

@testable import LDAP

@Suite("README of ldap")
struct ReadmeTests {
    @Test("The examples load", arguments: 0..<4)
    func examples(_ number: Int) throws {
        _ = try PluginReadme().settings(of: LDAPPlugin.self, example: number)
    }

    @Test("The table lists every setting")
    func table() throws {
        let readme = try PluginReadme().text
        let keys = [
            "url", "start-tls", "ca", "bind-dn", "bind-password", "base", "scope", "filter", "user-attribute",
            "account-filter", "group-base", "group-attribute", "group-filter", "group-name", "timeout", "workers",
            "queue",
        ]
        for key in keys { #expect(readme.contains("| `\(key)` |"), "\(key)") }
    }
}
