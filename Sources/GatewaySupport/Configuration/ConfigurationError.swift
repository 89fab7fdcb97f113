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
