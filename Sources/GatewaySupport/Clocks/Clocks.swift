#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

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

extension Clocks {
    /// The clocks of the machine: `CLOCK_MONOTONIC` and `CLOCK_REALTIME`.
    public static let system = Clocks(
        monotonic: {
            let now = reading(of: CLOCK_MONOTONIC)
            return MonotonicInstant(nanoseconds: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
        },
        wall: {
            let now = reading(of: CLOCK_REALTIME)
            return WallTime(microseconds: Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)
        }
    )

    private static func reading(of clock: clockid_t) -> timespec {
        var now = timespec()
        // Both clocks exist on every Linux, so this call cannot fail.
        clock_gettime(clock, &now)
        return now
    }
}
