internal import Foundation
public import GatewayCore
public import GatewaySupport

/// Reads `gateway.yaml` from disk and returns a configuration.
public enum ConfigurationFile {
    /// The path of the configuration if a command names no other.
    public static let standardPath = "/etc/notify-gateway/gateway.yaml"

    /// Reads a file and collects all of its problems. The configuration is nil if one of them is an error.
    ///
    /// - Parameter environment: The values of `${NAME}`. Defaults to the environment of the process.
    public static func load(
        _ path: String, catalog: PluginCatalog, environment: [String: String]? = nil
    ) -> (configuration: ServerConfiguration?, problems: [ConfigurationProblem]) {
        do {
            let root = try document(path)
            return read(
                root, directory: (path as NSString).deletingLastPathComponent, catalog: catalog,
                environment: environment ?? ProcessInfo.processInfo.environment)
        } catch {
            return (nil, [error])
        }
    }

    /// Reads the text of a file. Relative paths in it start at `directory`.
    public static func read(
        _ text: String, file: String, directory: String, catalog: PluginCatalog,
        environment: [String: String] = [:]
    ) -> (configuration: ServerConfiguration?, problems: [ConfigurationProblem]) {
        do {
            let root = try YAMLDocument.parse(text, file: file)
            return read(root, directory: directory, catalog: catalog, environment: environment)
        } catch {
            return (nil, [error])
        }
    }

    /// Reads and parses the YAML of a file, without expanding its variables.
    static func document(_ path: String) throws(ConfigurationProblem) -> ConfigurationNode {
        let data: Data
        do {
            data = try TextFile.bytes(path)
        } catch {
            guard access(path, F_OK) != 0, errno == ENOENT else { throw error }
            throw ConfigurationProblem(
                at: SourceLocation(file: path), path: "",
                "does not exist; --config names another, the package has examples in /usr/share/doc/notify-gateway/examples, "
                    + "and `notify-gateway demo` needs none")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw ConfigurationProblem(at: SourceLocation(file: path), path: "", "is not UTF-8")
        }
        return try YAMLDocument.parse(text, file: path)
    }

    private static func read(
        _ root: ConfigurationNode, directory: String, catalog: PluginCatalog, environment: [String: String]
    ) -> (configuration: ServerConfiguration?, problems: [ConfigurationProblem]) {
        let problems = ConfigurationProblems()
        let expansion = VariableExpansion(environment: environment, directory: directory, problems: problems)
        let reader = ConfigurationReader(expansion.expand(root, path: ""), directory: directory, problems: problems)
        let configuration = ServerConfiguration.read(reader, catalog: catalog)
        let failed = problems.all.contains { $0.severity == .error }
        return (failed ? nil : configuration, problems.all)
    }
}

extension ConfigurationFile {
    /// Returns the authenticators of a file with valid settings, whatever problems the rest of it has.
    static func authenticators(in path: String, catalog: PluginCatalog) -> [ConfiguredPlugin] {
        guard let root = try? document(path) else { return [] }
        return ServerConfiguration.readAuthenticators(
            expanded(root, of: path, nil, ConfigurationProblems()), names(in: path), catalog)
    }

    /// Returns the rules of user names of a file; the defaults if it contains none or cannot be read.
    public static func names(in path: String) -> NameRules {
        guard let root = try? document(path) else { return NameRules() }
        let reader = ConfigurationReader(root, directory: "", problems: ConfigurationProblems())
        return ServerConfiguration.readIdentity(reader.mapping("identity"))
    }

    /// Returns the path of the control socket of a file, for commands; nil if it has none. Only problems of that key
    /// are returned.
    public static func control(
        in path: String, environment: [String: String]? = nil
    ) -> (socket: String?, problems: [ConfigurationProblem]) {
        do {
            let problems = ConfigurationProblems()
            let reader = expanded(try document(path), of: path, environment, problems)
            let socket = ControlSocketPath.read(reader, toListen: false)
            return (socket, problems.all.filter { $0.path == "control" })
        } catch {
            return (nil, [error])
        }
    }

    private static func expanded(
        _ root: ConfigurationNode, of path: String, _ environment: [String: String]?, _ problems: ConfigurationProblems
    ) -> ConfigurationReader {
        let directory = (path as NSString).deletingLastPathComponent
        let expansion = VariableExpansion(
            environment: environment ?? ProcessInfo.processInfo.environment, directory: directory, problems: problems)
        return ConfigurationReader(expansion.expand(root, path: ""), directory: directory, problems: problems)
    }

    /// Returns the settings of the first authenticator of a kind in a file, for commands that change its files.
    /// Problems elsewhere in the file are ignored.
    public static func settings<Plugin: AuthenticatorPlugin>(
        of plugin: Plugin.Type, in path: String, environment: [String: String]? = nil
    ) -> (settings: Plugin.Settings?, problems: [ConfigurationProblem]) {
        let (found, problems) = allSettings(of: plugin, in: path, environment: environment)
        return (found.first ?? nil, problems)
    }

    /// Returns the settings of all authenticators of a kind in a file, in its order; nil for invalid ones.
    public static func allSettings<Plugin: AuthenticatorPlugin>(
        of plugin: Plugin.Type, in path: String, environment: [String: String]? = nil
    ) -> (settings: [Plugin.Settings?], problems: [ConfigurationProblem]) {
        let root: ConfigurationNode
        do {
            root = try document(path)
        } catch {
            return ([], [error])
        }
        let problems = ConfigurationProblems()
        let reader = expanded(root, of: path, environment, problems)
        var found: [Plugin.Settings?] = []
        for value in reader.sequence("authenticators") ?? [] {
            let wrapper = reader.reader(of: value.node, under: value.path)
            guard let inner = wrapper.mapping(plugin.name.text) else { continue }
            found.append(plugin.readSettings(inner))
        }
        return (found, problems.all)
    }

    /// Returns the path of the ledger that a file names; nil if it cannot be read. Problems elsewhere in the file are ignored.
    public static func ledger(in path: String, environment: [String: String]? = nil) -> String? {
        guard let root = try? document(path) else { return nil }
        let reader = expanded(root, of: path, environment, ConfigurationProblems())
        return reader.mapping("ledger")?.path("file") ?? ServerConfiguration.LedgerSection.standardFile
    }
}

/// The source of a configuration, which can be read again.
public struct ConfigurationSource: Sendable {
    /// The path of `gateway.yaml`.
    public let file: String
    private let catalog: PluginCatalog
    private let environment: [String: String]?

    /// Creates a source.
    ///
    /// - Parameter environment: The values of `${NAME}`. Defaults to the environment of the process.
    public init(file: String, catalog: PluginCatalog, environment: [String: String]? = nil) {
        self.file = file
        self.catalog = catalog
        self.environment = environment
    }

    /// Reads the configuration, as `ConfigurationFile.load` does. Blocks.
    public func load() -> (configuration: ServerConfiguration?, problems: [ConfigurationProblem]) {
        ConfigurationFile.load(file, catalog: catalog, environment: environment)
    }

    /// Returns the location of a value in the file, or that of the nearest enclosing value that exists. Without a
    /// readable file, the location names only the file.
    package func location(of path: String) -> SourceLocation {
        guard var node = try? ConfigurationFile.document(file) else { return SourceLocation(file: file) }
        var location = SourceLocation(file: file)
        for name in path.split(separator: ".") {
            guard case .mapping(let entries) = node.shape, let entry = entries.first(where: { $0.name == name })
            else { return location }
            location = entry.location
            node = entry.value
        }
        return location
    }
}
