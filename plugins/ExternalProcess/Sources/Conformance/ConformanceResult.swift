/// What one check of a conformance run found.
public struct ConformanceResult: Sendable, Hashable, CustomStringConvertible {
    /// What was tried, in a few words.
    public let check: String
    /// What was wrong with how the process took it, or nil.
    public let fault: String?

    /// Whether the process did as the protocol says.
    public var isGood: Bool { fault == nil }

    /// `ok      hello`, or `FAILED  hello: why`.
    public var description: String { fault.map { "FAILED  \(check): \($0)" } ?? "ok      \(check)" }
}

/// Why a check failed: thrown inside a check, reported by the run.
struct ConformanceFault: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
