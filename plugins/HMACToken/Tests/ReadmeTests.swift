import Foundation
import GatewayCore
import HMACToken
import Testing

@Suite("README")
struct ReadmeTests {
    private static func examples() throws -> [String] {
        let readme = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("README.md")
        let parts = try String(contentsOf: readme, encoding: .utf8).components(separatedBy: "```")
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element.drop { $0 != "\n" }) }
    }

    @Test("the example loads, and tokens that it issues are accepted")
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
        let reader = try #require(entry.mapping(HMACTokenPlugin.name.text))
        let settings = try #require(HMACTokenPlugin.readSettings(reader))
        reader.finish()
        #expect(problems.all.isEmpty)
        #expect(await HMACTokenPlugin.problems(in: settings, context: testContext()) == [])
        let alice = try #require(UserName(canonical: "alice"))
        let issued = try TokenSigner(settings).issue(subject: alice, now: testNow)
        #expect(issued.key == "k2")
        let text = issued.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        let authenticator = try await HMACTokenPlugin.makeAuthenticator(settings, context: testContext())
        #expect(await authenticator.present(text) == identity("alice"))
    }
}
