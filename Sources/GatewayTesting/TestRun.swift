internal import Foundation

/// The extent of the test run.
public enum TestRun {
    /// Whether repeating tests run their full number of repetitions: `NOTIFY_GATEWAY_FULL` is 1.
    public static let isFull = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_FULL"] == "1"

    /// Whether a sanitizer is active. It multiplies time and memory, so measurements of them are meaningless.
    public static let isSanitized = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_SANITIZED"] != nil

    /// The environment variables for the sanitizer. Tests pass them to programs that get a reduced environment.
    public static let sanitizerOptions = ProcessInfo.processInfo.environment.filter {
        isSanitized && ($0.key.hasSuffix("SAN_OPTIONS") || $0.key == "LD_PRELOAD")
    }

    /// Returns the full count in a full run, otherwise the reduced one.
    public static func count(full: Int, otherwise reduced: Int) -> Int { isFull ? full : reduced }

    /// Repeats a measurement until it is good, at most three times, and returns the last figure. A short interruption
    /// of the virtual machine spoils one measurement; a fault of the product spoils all of them.
    ///
    /// `isolation` is the caller's, so the body runs on the caller's actor.
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

    /// Repeats a measurement of time until it is below the limit, at most three times, and returns the last figure.
    public static func measure(
        isolation: isolated (any Actor)? = #isolation, below limit: Duration, _ body: () async throws -> Duration
    ) async rethrows -> Duration {
        try await measure(until: { $0 < limit }, body)
    }
}
