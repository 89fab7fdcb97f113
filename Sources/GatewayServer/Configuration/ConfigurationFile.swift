internal import Foundation
public import GatewayCore

/// `gateway.yaml` on its way from the disk to a configuration.
public enum ConfigurationFile {
    /// Where the configuration is looked for unless somebody says otherwise.
    public static let standardPath = "/etc/notify-gateway/gateway.yaml"

    /// Reads a file. All problems are found in one go; the configuration is nil where one of them is an error.
    ///
    /// - Parameter environment: what `${NAME}` stands for; the process's own unless given.
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

    /// Reads the text of a file that stands in `directory`.
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
    /// The authenticators of a file whose settings read well, whatever is wrong elsewhere in it.
    static func authenticators(in path: String, catalog: PluginCatalog) -> [ConfiguredPlugin] {
        guard let root = try? document(path) else { return [] }
        return ServerConfiguration.readAuthenticators(expanded(root, of: path, nil, ConfigurationProblems()), catalog)
    }

    /// How names become canonical by a file; the defaults where it says nothing, or cannot be read.
    public static func names(in path: String) -> NameRules {
        guard let root = try? document(path) else { return NameRules() }
        let reader = ConfigurationReader(root, directory: "", problems: ConfigurationProblems())
        return ServerConfiguration.readIdentity(reader.mapping("identity"))
    }

    /// The control socket of a file, for commands; nil where there is none. Problems elsewhere in the file do not matter here.
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

    /// The settings that a file gives the first authenticator of a kind, for commands that work on its files. Problems elsewhere
    /// in the file do not matter here.
    public static func settings<Plugin: AuthenticatorPlugin>(
        of plugin: Plugin.Type, in path: String, environment: [String: String]? = nil
    ) -> (settings: Plugin.Settings?, problems: [ConfigurationProblem]) {
        let root: ConfigurationNode
        do {
            root = try document(path)
        } catch {
            return (nil, [error])
        }
        let problems = ConfigurationProblems()
        let reader = expanded(root, of: path, environment, problems)
        for value in reader.sequence("authenticators") ?? [] {
            let wrapper = reader.reader(of: value.node, under: value.path)
            guard let inner = wrapper.mapping(plugin.name.text) else { continue }
            return (plugin.readSettings(inner), problems.all)
        }
        return (nil, problems.all)
    }
}
