public import GatewaySupport
internal import Synchronization

/// How often clients exceeded one limit of the listeners, for the metrics and the log. Thread-safe.
///
/// The log has at most one line for each limit in ten seconds, with the number of cases and the last client, so that no
/// client can fill the disk.
public final class ExceededLimit: Sendable {
    /// The cases since the last report.
    public struct Report: Sendable, Equatable {
        /// The number of cases.
        public let count: UInt64
        /// The address of the last client.
        public let peer: String
    }

    private struct Unreported {
        var count: UInt64 = 0
        var peer = ""
        var lastReport: MonotonicInstant?
    }

    /// The minimum time between two reports, in nanoseconds.
    private static let period: Int64 = 10_000_000_000

    private let counter = Counter()
    private let unreported = Mutex(Unreported())

    /// Creates the counts of one limit, at zero.
    init() {}

    /// The number of cases since the start.
    public var value: UInt64 { counter.value }

    /// Counts one case.
    ///
    /// - Parameter peer: The address of the client.
    func record(_ peer: String) {
        counter.add()
        unreported.withLock {
            $0.count += 1
            $0.peer = peer
        }
    }

    /// Returns the cases since the last report; nil if there are none, or if that report was less than ten seconds ago.
    /// Call it about once a second.
    public func report(now: MonotonicInstant) -> Report? {
        unreported.withLock { unreported in
            let isDue = unreported.lastReport.map { now.nanoseconds - $0.nanoseconds >= Self.period } ?? true
            guard unreported.count > 0, isDue else { return nil }
            defer { unreported = Unreported(lastReport: now) }
            return Report(count: unreported.count, peer: unreported.peer)
        }
    }
}
