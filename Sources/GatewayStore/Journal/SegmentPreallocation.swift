/// The number of bytes preallocated in a segment at a time.
///
/// Records that arrive during a preallocation wait for it. A large step costs milliseconds of processor time; small
/// steps wait for a slow disk more often. The step therefore adapts: it doubles as long as preallocation takes at most
/// as long as two batch writes, and halves otherwise.
struct SegmentPreallocation: Sendable, Hashable {
    /// The range of the step in bytes.
    static let steps = (64 << 10)...(1 << 20)

    /// The next step in bytes. Starts small, so that a short journal stays small.
    private(set) var step = Self.steps.lowerBound
    private var batch: Int64 = 0

    /// Records the duration of the last batch's write.
    mutating func wroteBatch(in nanoseconds: Int64) { batch = nanoseconds }

    /// Records the duration of a preallocation, and doubles or halves the step.
    mutating func preallocated(in nanoseconds: Int64) {
        let (least, most) = (Self.steps.lowerBound, Self.steps.upperBound)
        step = nanoseconds / 2 > batch ? max(least, step / 2) : min(most, step * 2)
    }
}
