/// One problem of a configuration: its location, what is wrong, and what would be valid.
public struct ConfigurationProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The severity of a problem: whether the gateway starts nevertheless.
    public enum Severity: String, Sendable {
        /// The gateway does not start.
        case error
        /// The gateway starts and reports the problem.
        case warning
    }

    /// The location of the value.
    public var location: SourceLocation
    /// The path of the value from the root, such as `limits[1].rate`; empty for the whole file.
    public var path: String
    /// One line that says what is wrong and what would be valid.
    public var message: String
    /// Whether the gateway starts nevertheless.
    public var severity: Severity

    /// Creates a problem.
    public init(at location: SourceLocation, path: String, _ message: String, severity: Severity = .error) {
        self.location = location
        self.path = path
        self.message = message
        self.severity = severity
    }

    /// `gateway.yaml:12:7: limits[1].rate: "30/mim" is not a rate; …`. A warning has `warning: ` before the path.
    public var description: String {
        let kind = severity == .warning ? "warning: " : ""
        return "\(location): \(kind)\(path.isEmpty ? "" : path + ": ")\(message)"
    }
}

/// A place in a file.
public struct SourceLocation: Sendable, Hashable, CustomStringConvertible {
    /// The file as the operator named it.
    public var file: String
    /// The line from 1; 0 for the file as a whole.
    public var line: Int
    /// The column from 1; 0 for the file as a whole.
    public var column: Int

    /// Creates a location. Without line and column it stands for the whole file.
    public init(file: String, line: Int = 0, column: Int = 0) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `file:line:column`, or only the file.
    public var description: String { line == 0 ? file : "\(file):\(line):\(column)" }
}
