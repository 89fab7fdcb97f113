public import GatewayCore

/// Why a key file cannot be used or changed: everything that is wrong with it, each with its place. Never a secret.
public struct TokenKeysFault: Error, Sendable, CustomStringConvertible {
    /// At least one.
    public let problems: [ConfigurationProblem]

    init(_ problems: [ConfigurationProblem]) { self.problems = problems }

    init(file: String, _ message: String) {
        problems = [ConfigurationProblem(at: SourceLocation(file: file), path: "", message)]
    }

    /// One line a problem.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}
