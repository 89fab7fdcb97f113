internal import Foundation
public import GatewayCore
internal import GatewaySupport

/// The examples in a plug-in's README, which tests load.
public struct PluginReadme {
    /// The text of the README.
    public let text: String
    /// The contents of the fenced code blocks, in order.
    public let examples: [String]

    /// Reads the README of the plug-in that the test belongs to: from the nearest parent directory that has one.
    public init(ofTest file: String = #filePath) throws {
        var folder = URL(fileURLWithPath: file).deletingLastPathComponent()
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.path + "/README.md") {
            folder.deleteLastPathComponent()
        }
        text = try String(contentsOf: folder.appendingPathComponent("README.md"), encoding: .utf8)
        let parts = text.components(separatedBy: "```")
        examples = parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element.drop { $0 != "\n" }) }
    }

    /// Reads an example's settings of the plug-in as the gateway does. Throws every problem.
    public func settings<Plugin: AuthenticatorPlugin>(
        of plugin: Plugin.Type, example: Int = 0, directory: String = ""
    ) throws -> Plugin.Settings {
        let problems = ConfigurationProblems()
        let root = ConfigurationReader(
            try YAMLDocument.parse(examples[example], file: "gateway.yaml"), directory: directory, problems: problems)
        for value in root.sequence("authenticators") ?? [] {
            let entry = root.reader(of: value.node, under: value.path)
            guard let reader = entry.mapping(plugin.name.text) else { continue }
            let settings = plugin.readSettings(reader)
            // The settings `users` and `groups` are allowed for every plug-in, and the server reads them.
            for bound in ["users", "groups"] { _ = reader.node(bound) }
            reader.finish()
            guard let settings, problems.all.isEmpty else { throw ConfigurationError(problems.all) }
            return settings
        }
        throw ConfigurationError(file: "gateway.yaml", "has no \(plugin.name)")
    }
}
