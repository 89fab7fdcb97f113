internal import Synchronization

/// How values are spread: how many are at most as large as each of some bounds, and what they come to together. Observing takes
/// no lock and no memory, from any thread.
public final class Histogram: Sendable {
    /// The upper bounds of the buckets, ascending, and what one is in the unit that is shown.
    public struct Buckets: Sendable, Hashable {
        /// The bounds.
        public let bounds: [Int64]
        /// By what values are divided where they are shown: 1,000,000,000 for nanoseconds that are shown as seconds.
        public let scale: Double

        /// Buckets of these bounds, which must ascend.
        public init(_ bounds: [Int64], scale: Double = 1) {
            self.bounds = bounds
            self.scale = scale
        }

        /// Nanoseconds, shown as seconds: from 50 µs to a minute.
        public static let latencies = Buckets(
            [
                50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
                100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
                30_000_000_000, 60_000_000_000,
            ], scale: 1_000_000_000)
        /// Numbers of things, from 1 to 4096.
        public static let sizes = Buckets([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096])
    }

    /// What was observed up to a moment.
    public struct Reading: Sendable, Hashable {
        /// The buckets.
        public let buckets: Buckets
        /// How many values are in each bucket and in none of those before; the last is beyond all bounds.
        public let counts: [UInt64]
        /// The sum of all values.
        public let sum: UInt64
    }

    /// The most bounds that there may be.
    private static let longest = 24

    private let buckets: Buckets
    // All in one place, so that few lines of a cache are touched.
    private let sum = Atomic<UInt64>(0)
    private let counts: [25 of Atomic<UInt64>]

    /// Nothing observed yet. There may be 24 bounds at the most.
    public init(_ buckets: Buckets) {
        // All lists of bounds are in our source, and histograms are made at the start: none is a peer's or an operator's.
        precondition(buckets.bounds.count <= Self.longest, "more buckets than a histogram has")
        self.buckets = buckets
        counts = .init { _ in Atomic(0) }
    }

    /// Takes a value that is not negative.
    public func observe(_ value: Int64) {
        var index = 0
        while index < buckets.bounds.count, value > buckets.bounds[index] { index += 1 }
        counts[index].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(UInt64(clamping: value), ordering: .relaxed)
    }

    /// What was observed so far.
    public var reading: Reading {
        Reading(
            buckets: buckets, counts: (0...buckets.bounds.count).map { counts[$0].load(ordering: .relaxed) },
            sum: sum.load(ordering: .relaxed))
    }
}
