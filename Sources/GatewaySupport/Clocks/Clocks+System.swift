#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

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
