internal import Foundation

/// How much the tests are to do.
public enum TestRun {
    /// Whether tests that repeat something do it to the full count: `NOTIFY_GATEWAY_FULL` is 1.
    public static let isFull = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_FULL"] == "1"

    /// The full count where it is asked for, the other one otherwise.
    public static func count(full: Int, otherwise reduced: Int) -> Int { isFull ? full : reduced }
}
