package import GatewaySupport

/// The counters of the export, which outlive a change of its settings.
package final class TraceExportMetrics: Sendable {
    /// The reason why spans never reached the collector.
    package enum DropReason: String, Sendable, CaseIterable {
        /// The queue was full.
        case queueFull = "queue-full"
        /// The collector rejected them, and would do so again.
        case rejected
        /// The collector could not be reached, or was overloaded, for all attempts.
        case undelivered
        /// The export was stopped or turned off first.
        case stopped
    }

    /// The number of spans that the collector accepted.
    package let exported = Counter()
    private let dropped = DropReason.allCases.map { _ in Counter() }

    /// Creates counters at zero.
    package init() {}

    /// Counts spans that were dropped.
    func drop(_ count: Int, _ reason: DropReason) {
        guard count > 0, let index = DropReason.allCases.firstIndex(of: reason) else { return }
        dropped[index].add(UInt64(count))
    }

    /// The numbers of dropped spans, for each reason.
    package var drops: [(reason: DropReason, count: UInt64)] {
        zip(DropReason.allCases, dropped.map(\.value)).map { $0 }
    }
}
