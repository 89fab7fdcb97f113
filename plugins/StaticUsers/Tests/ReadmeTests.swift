import Foundation
import GatewayCore
import StaticUsers
import Testing

@Suite("README")
struct ReadmeTests {
    private static func examples() throws -> [String] {
        let readme = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("README.md")
        let parts = try String(contentsOf: readme, encoding: .utf8).components(separatedBy: "```")
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element.drop { $0 != "\n" }) }
    }

    @Test("the example loads, and its users log in")
    func example() async throws {
        let examples = try Self.examples()
        try #require(examples.count == 2)
        let files = try TestFiles()
        _ = try files.write(examples[1])
        let problems = ConfigurationProblems()
        let root = ConfigurationReader(
            try YAMLDocument.parse(examples[0], file: "gateway.yaml"), directory: files.path, problems: problems)
        let list = try #require(root.sequence("authenticators"))
        let entry = root.reader(of: try #require(list.first).node, under: "authenticators[0]")
        let reader = try #require(entry.mapping(StaticUsersPlugin.name.text))
        let settings = try #require(StaticUsersPlugin.readSettings(reader))
        reader.finish()
        #expect(problems.all.isEmpty)
        #expect(await StaticUsersPlugin.problems(in: settings, context: testContext()) == [])
        let authenticator = try await StaticUsersPlugin.makeAuthenticator(settings, context: testContext())
        guard case .accepted(let alice) = await authenticator.login("alice", "correct horse") else {
            Issue.record("alice cannot log in")
            return
        }
        #expect(alice.groups == [try #require(GroupName("dispatch"))])
        #expect(await authenticator.login("bob", "correct horse") == .rejected(.disabled))
    }
}
