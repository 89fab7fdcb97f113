/// Why a configuration, or a file that it names, cannot be used or changed: everything that is wrong with it, each with its
/// place. Never a secret.
public struct ConfigurationFault: Error, Sendable, CustomStringConvertible {
    /// At least one.
    public let problems: [ConfigurationProblem]

    /// A fault of several problems.
    public init(_ problems: [ConfigurationProblem]) { self.problems = problems }

    /// A fault of a file as a whole.
    public init(file: String, _ message: String) {
        problems = [ConfigurationProblem(at: SourceLocation(file: file), path: "", message)]
    }

    /// One line a problem.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}
