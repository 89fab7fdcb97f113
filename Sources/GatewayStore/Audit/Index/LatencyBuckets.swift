/// The classes into which durations of the backend's responses are counted.
///
/// The index of a segment stores the number of a line's bucket, so a change of the bounds is a change of its format.
public enum LatencyBuckets {
    /// The upper bounds in milliseconds, inclusive, in ascending order. The last bucket has none.
    public static let bounds: [UInt64] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]

    /// The number of buckets.
    public static var count: Int { bounds.count + 1 }

    /// Returns the number of the bucket that contains a duration.
    public static func bucket(of milliseconds: UInt64) -> Int {
        bounds.firstIndex { milliseconds <= $0 } ?? bounds.count
    }
}
