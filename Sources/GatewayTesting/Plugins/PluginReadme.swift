internal import Foundation
public import GatewayCore

/// The examples in a plug-in's README, which must load.
public struct PluginReadme {
    /// The whole README.
    public let text: String
    /// What stands between fences, in order.
    public let examples: [String]

    /// The README of the plug-in whose test this is: in the nearest folder above it that has one.
    public init(ofTest file: String = #filePath) throws {
        var folder = URL(fileURLWithPath: file).deletingLastPathComponent()
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.path + "/README.md") {
            folder.deleteLastPathComponent()
        }
        text = try String(contentsOf: folder.appendingPathComponent("README.md"), encoding: .utf8)
        let parts = text.components(separatedBy: "```")
        examples = parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element.drop { $0 != "\n" }) }
    }

    /// The settings that the example gives the plug-in, read as the gateway reads them; every problem is thrown.
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
            // Bounds stand among the settings of every plug-in, and are the server's to read.
            for bound in ["users", "groups"] { _ = reader.node(bound) }
            reader.finish()
            guard let settings, problems.all.isEmpty else { throw ConfigurationFault(problems.all) }
            return settings
        }
        throw ConfigurationFault(file: "gateway.yaml", "has no \(plugin.name)")
    }
}
