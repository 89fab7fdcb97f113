import GatewayCore
import GatewayTesting
import HMACToken
import Testing

@Suite("README")
struct ReadmeTests {
    @Test("the example loads, and tokens that it issues are accepted")
    func example() async throws {
        let readme = try PluginReadme()
        try #require(readme.examples.count == 2)
        let files = try TestFiles()
        try files.write(readme.examples[1])
        let settings = try readme.settings(of: HMACTokenPlugin.self, directory: files.path)
        #expect(await HMACTokenPlugin.problems(in: settings, context: .test()) == [])
        let alice = try #require(UserName(canonical: "alice"))
        let issued = try TokenSigner(settings).issue(subject: alice, now: WallTime.test)
        #expect(issued.key == "k2")
        let text = issued.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        let authenticator = try await HMACTokenPlugin.makeAuthenticator(settings, context: .test())
        #expect(await authenticator.present(text) == identity("alice"))
    }
}
