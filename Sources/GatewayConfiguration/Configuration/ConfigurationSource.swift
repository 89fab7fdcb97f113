internal import GatewayCore
public import GatewaySupport

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
