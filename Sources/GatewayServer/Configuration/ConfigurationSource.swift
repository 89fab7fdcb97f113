public import GatewayCore

/// Where a configuration came from, so that it can be read again.
public struct ConfigurationSource: Sendable {
    /// The path of `gateway.yaml`.
    public let file: String
    private let catalog: PluginCatalog
    private let environment: [String: String]?

    /// - Parameter environment: what `${NAME}` stands for; the process's own unless given.
    public init(file: String, catalog: PluginCatalog, environment: [String: String]? = nil) {
        self.file = file
        self.catalog = catalog
        self.environment = environment
    }

    /// Reads it, as `ConfigurationFile.load` does. Blocks.
    public func load() -> (configuration: ServerConfiguration?, problems: [ConfigurationProblem]) {
        ConfigurationFile.load(file, catalog: catalog, environment: environment)
    }

    /// Where a value of the file stands, or the nearest that is there of what it is in; the whole file where it cannot be read.
    func location(of path: String) -> SourceLocation {
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
