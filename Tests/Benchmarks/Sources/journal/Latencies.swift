import Foundation
import Synchronization

/// A list of durations.
struct Latencies: Sendable {
    private var nanoseconds: [Int64] = []

    mutating func add(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        nanoseconds.append(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    mutating func add(_ other: Latencies) { nanoseconds += other.nanoseconds }

    var count: Int { nanoseconds.count }

    /// The median and the 99th percentile.
    var text: String {
        let sorted = nanoseconds.sorted()
        guard !sorted.isEmpty else { return "nothing" }
        let places = [0.5, 0.99].map { sorted[min(sorted.count - 1, Int(Double(sorted.count) * $0))] }
        return places.map { String(format: "%.3f", Double($0) / 1e6) }.joined(separator: " / ") + " ms (p50 / p99)"
    }
}

/// The latencies of several callers.
final class AllLatencies: Sendable {
    private let all = Mutex(Latencies())

    func add(_ other: Latencies) { all.withLock { $0.add(other) } }

    var sum: Latencies { all.withLock { $0 } }
}
