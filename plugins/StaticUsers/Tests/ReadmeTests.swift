import GatewayCore
import GatewaySupport
import GatewayTesting
import StaticUsers
import Testing

@Suite("README of static-users")
struct ReadmeTests {
    @Test("The example loads and its users can log in")
    func example() async throws {
        let readme = try PluginReadme()
        try #require(readme.examples.count == 2)
        let files = try TestFiles()
        try files.write(readme.examples[1])
        let settings = try readme.settings(of: StaticUsersPlugin.self, directory: files.path)
        #expect(await StaticUsersPlugin.problems(in: settings, context: .test()) == [])
        let authenticator = try await StaticUsersPlugin.makeAuthenticator(settings, context: .test())
        guard case .accepted(let alice) = await authenticator.login("alice", "correct horse") else {
            Issue.record("alice cannot log in")
            return
        }
        #expect(alice.groups == [try #require(GroupName("dispatch"))])
        #expect(await authenticator.login("bob", "correct horse") == .rejected(.disabled))
    }
}
