/// The two clocks, passed as a parameter so that tests can control time.
public struct Clocks: Sendable {
    /// Returns the monotonic time. Used for limits, deadlines and ages; not comparable across restarts.
    public let monotonic: @Sendable () -> MonotonicInstant
    /// Returns the time of day. Used for records, and for the expiry of tokens and accounts.
    public let wall: @Sendable () -> WallTime

    /// Creates clocks from the functions that read them.
    public init(
        monotonic: @escaping @Sendable () -> MonotonicInstant, wall: @escaping @Sendable () -> WallTime
    ) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

/// A reading of the monotonic clock.
public struct MonotonicInstant: Sendable, Hashable, Comparable {
    /// Nanoseconds since an arbitrary start.
    public let nanoseconds: Int64

    /// Creates a reading.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Returns whether the left reading is earlier.
    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
