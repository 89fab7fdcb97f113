public import GatewayCore

/// Why the gateway does not start: everything that is wrong, at once.
public struct StartProblems: Error, Sendable, CustomStringConvertible {
    /// The problems, errors and warnings.
    public let problems: [ConfigurationProblem]

    /// One problem a line.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}
