#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The three clocks, passed as a parameter so that tests can control time.
public struct Clocks: Sendable {
    /// Returns the monotonic time, which stands still while the machine is suspended. Used for limits, deadlines and the
    /// durations of work; not comparable across restarts, nor with `sinceBoot`.
    public let monotonic: @Sendable () -> MonotonicInstant
    /// Returns the time since the machine was started, including the time for which it was suspended. Used for what must
    /// end although the machine was suspended: leases, cached verdicts and logins. Not comparable across restarts, nor
    /// with `monotonic`.
    public let sinceBoot: @Sendable () -> MonotonicInstant
    /// Returns the time of day. Used for records, and for the expiry of tokens and accounts.
    public let wall: @Sendable () -> WallTime

    /// Creates clocks from the functions that read them.
    ///
    /// - Parameter sinceBoot: Nil for the monotonic clock, as on a machine that is never suspended.
    public init(
        monotonic: @escaping @Sendable () -> MonotonicInstant, wall: @escaping @Sendable () -> WallTime,
        sinceBoot: (@Sendable () -> MonotonicInstant)? = nil
    ) {
        self.monotonic = monotonic
        self.wall = wall
        self.sinceBoot = sinceBoot ?? monotonic
    }
}

/// A reading of a clock that only moves forward.
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
    /// The clocks of the machine: `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME` and `CLOCK_REALTIME`.
    public static let system = Clocks(
        monotonic: { instant(of: CLOCK_MONOTONIC) },
        wall: {
            let now = reading(of: CLOCK_REALTIME)
            return WallTime(microseconds: Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)
        },
        sinceBoot: { instant(of: CLOCK_BOOTTIME) })

    private static func instant(of clock: clockid_t) -> MonotonicInstant {
        let now = reading(of: clock)
        return MonotonicInstant(nanoseconds: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
    }

    private static func reading(of clock: clockid_t) -> timespec {
        var now = timespec()
        // These clocks exist on every Linux, so this call cannot fail.
        clock_gettime(clock, &now)
        return now
    }
}
