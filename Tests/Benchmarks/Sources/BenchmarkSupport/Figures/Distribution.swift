/// A compact histogram of durations, each with a relative error below 1/64.
package struct Distribution: Sendable {
    private static let steps = 64
    private var counts = [Int](repeating: 0, count: 64 * 48)
    /// The number of durations.
    package private(set) var count = 0

    /// Creates an empty distribution.
    package init() {}

    /// Adds a duration in nanoseconds.
    package mutating func add(_ nanoseconds: Int64) {
        let value = UInt64(max(0, nanoseconds))
        counts[min(counts.count - 1, Self.bucket(of: value))] += 1
        count += 1
    }

    /// Returns the percentile at the given share in milliseconds, or nil if there are no durations.
    package func percentile(_ part: Double) -> Double? {
        guard count > 0 else { return nil }
        var left = max(1, Int((Double(count) * part).rounded(.up)))
        for (bucket, number) in counts.enumerated() {
            left -= number
            if left <= 0 { return Double(Self.upperBound(of: bucket)) / 1e6 }
        }
        return nil
    }

    private static func bucket(of value: UInt64) -> Int {
        if value < UInt64(steps) { return Int(value) }
        let shift = 63 - value.leadingZeroBitCount - 6
        return (shift + 1) * steps + Int(value >> UInt64(shift)) - steps
    }

    private static func upperBound(of bucket: Int) -> UInt64 {
        if bucket < steps { return UInt64(bucket) }
        let shift = UInt64(bucket / steps - 1)
        return (UInt64(bucket % steps + steps + 1) << shift) - 1
    }
}
