internal import Synchronization

/// A monotonically increasing counter. Adding takes no lock, allocates nothing and is safe on any thread.
public final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)

    /// Creates a counter at zero.
    public init() {}

    /// Adds to the counter.
    public func add(_ amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    /// The current count.
    public var value: UInt64 { count.load(ordering: .relaxed) }
}

/// An integer that can be set to any value. Setting takes no lock, allocates nothing and is safe on any thread.
public final class Gauge: Sendable {
    private let level: Atomic<Int64>

    /// Creates a gauge.
    public init(_ value: Int64 = 0) { level = Atomic(value) }

    /// Sets the value.
    public func set(_ value: Int64) { level.store(value, ordering: .relaxed) }

    /// The current value.
    public var value: Int64 { level.load(ordering: .relaxed) }
}

/// A histogram with fixed buckets and a sum. Observing takes no lock, allocates nothing and is safe on any thread.
public final class Histogram: Sendable {
    /// The upper bounds of the buckets, and the scale of the exported unit.
    public struct Buckets: Sendable, Hashable {
        /// The inclusive upper bounds, in ascending order.
        public let bounds: [Int64]
        /// The divisor of exported values: 1,000,000,000 for nanoseconds that are exported as seconds.
        public let scale: Double

        /// Creates buckets. The bounds must ascend.
        public init(_ bounds: [Int64], scale: Double = 1) {
            self.bounds = bounds
            self.scale = scale
        }

        /// Nanoseconds, exported as seconds: from 50 µs to one minute.
        public static let latencies = Buckets(
            [
                50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
                100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
                30_000_000_000, 60_000_000_000,
            ], scale: 1_000_000_000)
        /// Counts of items, from 1 to 4096.
        public static let sizes = Buckets([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096])
    }

    /// The contents of a histogram at one moment.
    public struct Reading: Sendable, Hashable {
        /// The buckets.
        public let buckets: Buckets
        /// The number of values in each bucket, not cumulative. The last element counts the values above all bounds.
        public let counts: [UInt64]
        /// The sum of all values.
        public let sum: UInt64

        /// Returns the contents of two histograms with equal buckets together.
        package static func + (left: Reading, right: Reading) -> Reading {
            Reading(
                buckets: left.buckets, counts: zip(left.counts, right.counts).map { $0 &+ $1 },
                sum: left.sum &+ right.sum)
        }
    }

    /// The maximum number of bounds.
    private static let maximumBounds = 24

    private let buckets: Buckets
    // Stored inline, so that an observation touches few cache lines.
    private let sum = Atomic<UInt64>(0)
    private let counts: [25 of Atomic<UInt64>]

    /// Creates an empty histogram with at most 24 bounds.
    public init(_ buckets: Buckets) {
        // All bounds are literals in this program; none comes from a peer or an operator.
        precondition(buckets.bounds.count <= Self.maximumBounds, "more buckets than a histogram has")
        self.buckets = buckets
        counts = .init { _ in Atomic(0) }
    }

    /// Records a value. The value must not be negative.
    public func observe(_ value: Int64) {
        var index = 0
        while index < buckets.bounds.count, value > buckets.bounds[index] { index += 1 }
        counts[index].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(UInt64(clamping: value), ordering: .relaxed)
    }

    /// The values observed so far.
    public var reading: Reading {
        Reading(
            buckets: buckets, counts: (0...buckets.bounds.count).map { counts[$0].load(ordering: .relaxed) },
            sum: sum.load(ordering: .relaxed))
    }
}
