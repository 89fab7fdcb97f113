/// The result of one check of a conformance run.
public struct ConformanceResult: Sendable, Hashable, CustomStringConvertible {
    /// The name of the check.
    public let check: String
    /// The process's mistake, or nil if the check passed.
    public let fault: String?

    /// Whether the check passed. For tests of a process.
    public var isGood: Bool { fault == nil }

    /// `ok      hello`, or `FAILED  hello: why`.
    public var description: String { fault.map { "FAILED  \(check): \($0)" } ?? "ok      \(check)" }
}

/// The reason why a check failed. Checks throw it and the run reports it.
struct ConformanceError: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
