/// One thing wrong with a configuration, where it stands, and what would be right.
public struct ConfigurationProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// Whether the gateway starts in spite of it.
    public enum Severity: String, Sendable {
        /// It does not start.
        case error
        /// It starts, and says so.
        case warning
    }

    /// Where the value stands.
    public var location: SourceLocation
    /// The path of the value from the root, such as `limits[1].rate`; empty for the whole file.
    public var path: String
    /// What is wrong and what would be right, in one line.
    public var message: String
    /// Whether the gateway starts in spite of it.
    public var severity: Severity

    /// A problem from its parts.
    public init(at location: SourceLocation, path: String, _ message: String, severity: Severity = .error) {
        self.location = location
        self.path = path
        self.message = message
        self.severity = severity
    }

    /// `gateway.yaml:12:7: limits[1].rate: "30/mim" is not a rate; …`, with `warning: ` before the path of a warning.
    public var description: String {
        let kind = severity == .warning ? "warning: " : ""
        return "\(location): \(kind)\(path.isEmpty ? "" : path + ": ")\(message)"
    }
}

/// A place in a file.
public struct SourceLocation: Sendable, Hashable, CustomStringConvertible {
    /// The file as the operator named it.
    public var file: String
    /// From 1; 0 where the file as a whole is meant.
    public var line: Int
    /// From 1; 0 where the file as a whole is meant.
    public var column: Int

    /// A place; without line and column the whole file.
    public init(file: String, line: Int = 0, column: Int = 0) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `file:line:column`, or the file alone.
    public var description: String { line == 0 ? file : "\(file):\(line):\(column)" }
}
