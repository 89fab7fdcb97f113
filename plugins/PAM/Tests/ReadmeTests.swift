import Foundation
import GatewayCore
import Testing

@testable import PAM

@Suite("README")
struct ReadmeTests {
    private static func readme() throws -> String {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("README.md")
        return try String(contentsOf: file, encoding: .utf8)
    }

    private static func examples(_ language: String) throws -> [String] {
        try readme().components(separatedBy: "```").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            .filter { $0.hasPrefix(language + "\n") }.map { String($0.dropFirst(language.count + 1)) }
    }

    @Test("the examples load")
    func examples() throws {
        let examples = try Self.examples("yaml")
        #expect(examples.count == 2)
        for example in examples {
            let problems = ConfigurationProblems()
            let root = ConfigurationReader(
                try YAMLDocument.parse(example, file: "gateway.yaml"), directory: "", problems: problems)
            let list = try #require(root.sequence("authenticators"))
            let entry = root.reader(of: try #require(list.first).node, under: "authenticators[0]")
            let reader = try #require(entry.mapping(PAMPlugin.name.text))
            let settings = try #require(PAMPlugin.readSettings(reader))
            reader.finish()
            #expect(problems.all.isEmpty)
            #expect(settings.service == "notify-gateway")
        }
    }

    @Test("the table has every setting")
    func table() throws {
        let readme = try Self.readme()
        let keys = ["service", "minimum-uid", "workers", "deadline", "queue", "service-directory", "socket"]
        for key in keys { #expect(readme.contains("| `\(key)` |"), "\(key)") }
    }

    @Test("the worker service's command line is one")
    func commandLine() throws {
        let unit = try #require(try Self.examples("ini").first)
        let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
        let words = line.split(separator: " ").map(String.init)
        #expect(words.dropFirst().first == "pam-worker")
        #expect(try WorkerArguments(Array(words.dropFirst(2))).service == "notify-gateway")
    }
}
