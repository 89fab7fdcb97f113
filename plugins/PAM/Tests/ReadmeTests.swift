import GatewayCore
import GatewayTesting
import Testing

@testable import PAM

@Suite("README of pam")
struct ReadmeTests {
    @Test("The examples load", arguments: [0, 2])
    func examples(_ number: Int) throws {
        let settings = try PluginReadme().settings(of: PAMPlugin.self, example: number)
        #expect(settings.service == "notify-gateway")
    }

    @Test("The table lists every setting")
    func table() throws {
        let readme = try PluginReadme().text
        let keys = ["service", "minimum-uid", "workers", "deadline", "queue", "service-directory", "socket"]
        for key in keys { #expect(readme.contains("| `\(key)` |"), "\(key)") }
    }
}
