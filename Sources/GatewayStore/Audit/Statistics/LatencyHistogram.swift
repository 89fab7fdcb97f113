internal import GatewaySupport

/// The numbers of sends by the duration of the backend's response.
public struct LatencyHistogram: Sendable, Hashable {
    /// The number of sends in each bucket of ``LatencyBuckets``.
    public private(set) var counts: [Int]

    /// Creates a histogram.
    ///
    /// - Parameter counts: The number of sends in each bucket. Missing ones are zero.
    public init(_ counts: some Sequence<Int> = []) {
        self.counts = Array(counts.prefix(LatencyBuckets.count))
        self.counts += [Int](repeating: 0, count: LatencyBuckets.count - self.counts.count)
    }

    /// The number of sends whose duration is known.
    public var total: Int { counts.saturatingSum }

    /// Returns the bound of the bucket in which a quantile lies.
    ///
    /// - Parameter fraction: The quantile, such as 0.99.
    public func bound(at fraction: Double) -> Bound? {
        let total = total
        guard total > 0 else { return nil }
        // Above 2^53 the product is inexact, and may be above all integers.
        let rank = Int(exactly: (fraction * Double(total)).rounded(.up)).map { min(total, max(1, $0)) } ?? total
        var sum = 0
        for (bucket, count) in counts.enumerated() {
            sum = sum.addingSaturating(count)
            if sum >= rank {
                return bucket < LatencyBuckets.bounds.count
                    ? .atMost(milliseconds: Int(LatencyBuckets.bounds[bucket]))
                    : .above(milliseconds: Int(LatencyBuckets.bounds.last ?? 0))
            }
        }
        return nil
    }

    /// The bound of a bucket.
    public enum Bound: Sendable, Hashable {
        /// The duration is at most this number of milliseconds.
        case atMost(milliseconds: Int)
        /// The duration is above the bound of the last bounded bucket.
        case above(milliseconds: Int)
    }

    /// Adds another histogram.
    public static func += (left: inout LatencyHistogram, right: LatencyHistogram) {
        for bucket in left.counts.indices {
            left.counts[bucket] = left.counts[bucket].addingSaturating(right.counts[bucket])
        }
    }
}
