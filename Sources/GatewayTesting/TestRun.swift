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
}
