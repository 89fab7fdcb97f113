/// One problem of a configuration: its location, what is wrong, and what would be valid.
public struct ConfigurationProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The severity of a problem: whether the gateway starts nevertheless.
    public enum Severity: String, Sendable {
        /// The gateway does not start.
        case error
        /// The gateway starts and reports the problem.
        case warning
        /// Not a problem: what the gateway makes of the value. The gateway starts.
        case note
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

    /// `gateway.yaml:12:7: limits[1].rate: "30/mim" is not a rate; …`. A warning has `warning: ` before the path, a note
    /// `note: `.
    public var description: String {
        let kind = severity == .error ? "" : "\(severity.rawValue): "
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

/// The error that a configuration, or a file that it names, cannot be used or changed. It lists every problem with its
/// location, and contains no secret.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// The problems; at least one.
    public let problems: [ConfigurationProblem]

    /// Creates an error with several problems.
    public init(_ problems: [ConfigurationProblem]) { self.problems = problems }

    /// Creates an error that concerns a file as a whole.
    public init(file: String, _ message: String) {
        problems = [ConfigurationProblem(at: SourceLocation(file: file), path: "", message)]
    }

    /// The problems, one on each line.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// The collection of problems that readers report to.
public final class ConfigurationProblems {
    /// The problems so far, in the order of discovery.
    public private(set) var all: [ConfigurationProblem] = []

    /// Creates an empty collection.
    public init() {}

    /// Adds a problem. Its message does not contain expanded values.
    public func add(_ problem: ConfigurationProblem) {
        var problem = problem
        problem.message = concealed(problem.message, at: problem.location)
        all.append(problem)
    }

    /// The text of each scalar that contains an expansion, by location.
    private var expandedTexts: [SourceLocation: String] = [:]
    /// The values of expansions and the texts that contain them, which no problem contains.
    private var expansions: Set<String> = []

    /// Removes the value of an expansion, and the text that contains it, from the messages of later problems.
    package func conceal(_ values: [String], in text: String, at location: SourceLocation) {
        expandedTexts[location] = text
        expansions.formUnion((values + [text]).filter { !$0.isEmpty })
    }

    private func concealed(_ message: String, at location: SourceLocation) -> String {
        guard !expansions.isEmpty else { return message }
        let replacement = "a value from an expansion"
        var message = message
        for text in expansions.sorted(by: { $0.utf8.count > $1.utf8.count }) {
            message = message.replacing("\"\(text)\"", with: replacement)
            // A short text, such as a port, may also be a part of the message itself.
            if text.utf8.count >= 8 { message = message.replacing(text, with: replacement) }
        }
        guard let text = expandedTexts[location]?.lowercased() else { return message }
        // A part of the value, such as the host of a URL.
        let parts = message.split(separator: "\"", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() where index % 2 == 1 && !part.isEmpty {
            if text.contains(part.lowercased()) { message = message.replacing("\"\(part)\"", with: replacement) }
        }
        return message
    }

    func add(
        at location: SourceLocation, _ path: String, _ message: String,
        severity: ConfigurationProblem.Severity = .error
    ) {
        add(ConfigurationProblem(at: location, path: path, message, severity: severity))
    }
}
