/// How much room a segment is given at a time.
///
/// Nothing is written meanwhile, and calls wait: room for long costs some milliseconds at once, and much of the processor, where
/// the system has to find memory for all of it. On a slow disk what counts is how often, since each time is one more wait for it.
/// So the step is as long as takes no longer than two batches do.
struct JournalFillPace: Sendable, Hashable {
    /// What the step is within, in bytes.
    static let steps = (64 << 10)...(1 << 20)

    /// How much room to make next, in bytes. At first little: a journal of few lines is to stay small.
    private(set) var step = Self.steps.lowerBound
    private var batch: Int64 = 0

    /// A batch was written, in so many nanoseconds.
    mutating func wroteBatch(in nanoseconds: Int64) { batch = nanoseconds }

    /// Room was made, in so many nanoseconds.
    mutating func madeRoom(in nanoseconds: Int64) {
        let (least, most) = (Self.steps.lowerBound, Self.steps.upperBound)
        step = nanoseconds / 2 > batch ? max(least, step / 2) : min(most, step * 2)
    }
}
