internal import Foundation

/// How much the tests are to do.
public enum TestRun {
    /// Whether tests that repeat something do it to the full count: `NOTIFY_GATEWAY_FULL` is 1.
    public static let isFull = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_FULL"] == "1"

    /// Whether a sanitizer looks on, which costs times the time and the memory: what measures either says nothing then.
    public static let isSanitized = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_SANITIZED"] != nil

    /// What the environment tells a sanitizer: programs that are not given all of the environment need it too.
    public static let sanitizerOptions = ProcessInfo.processInfo.environment.filter {
        isSanitized && ($0.key.hasSuffix("SAN_OPTIONS") || $0.key == "LD_PRELOAD")
    }

    /// The full count where it is asked for, the other one otherwise.
    public static func count(full: Int, otherwise reduced: Int) -> Int { isFull ? full : reduced }

    /// Measures times until they are good, three times at the most, and answers what came last. A processor that the machine's
    /// host lends to somebody else for a moment spoils one measurement; what the product does wrong spoils each.
    ///
    /// `isolation` is the caller's: the body stays where it is.
    public static func measure<Figure>(
        isolation: isolated (any Actor)? = #isolation, until isGood: (Figure) -> Bool,
        _ body: () async throws -> Figure
    ) async rethrows -> Figure {
        for _ in 0..<2 {
            let figure = try await body()
            if isGood(figure) { return figure }
        }
        return try await body()
    }

    /// Measures a time until it is below the limit, three times at the most, and answers what came last.
    public static func measure(
        isolation: isolated (any Actor)? = #isolation, below limit: Duration, _ body: () async throws -> Duration
    ) async rethrows -> Duration {
        try await measure(until: { $0 < limit }, body)
    }
}
