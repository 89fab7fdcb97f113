/// The two clocks as parameters, so that tests hold the hands.
public struct Clocks: Sendable {
    /// Nanoseconds that pass steadily and mean nothing across restarts. For limits, deadlines and ages.
    public let monotonic: @Sendable () -> MonotonicInstant
    /// The time of day. For records, and for tokens and accounts that expire.
    public let wall: @Sendable () -> WallTime

    /// Clocks from their readings.
    public init(
        monotonic: @escaping @Sendable () -> MonotonicInstant, wall: @escaping @Sendable () -> WallTime
    ) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

/// A reading of the monotonic clock.
public struct MonotonicInstant: Sendable, Hashable, Comparable {
    /// Nanoseconds since some start.
    public let nanoseconds: Int64

    /// A reading.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Earlier is less.
    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
