internal import GatewayCore

/// The time of day as far as the monotonic clock confirms it: what is deleted for its age is deleted by this time only.
///
/// A wall clock that jumps ahead would otherwise make every revocation look old enough to be forgotten, and after the clock was
/// set right, revoked tokens would be good again. This time follows the wall clock back at once. Ahead of the monotonic clock it
/// follows only when the difference is small, or has stayed the same for a week. A value; the owner keeps it across restarts, and
/// the time between two runs counts as a difference.
struct AgreedTime: Sendable {
    /// The longest difference that is believed at once: a pause between two runs, or a small correction.
    static let believedAtOnce = Duration.seconds(86_400)
    /// How long a longer difference must last.
    static let believedAfter = Duration.seconds(7 * 86_400)

    /// The time that was agreed on last.
    private(set) var time: WallTime
    private var monotonic: MonotonicInstant
    /// The wall clock less the monotonic one while it is too far ahead, in microseconds, and since when.
    private var ahead: (offset: Int64, since: MonotonicInstant)?

    /// Starts at the time that was agreed on before a restart, or at the wall clock's where there is none.
    init(keptFrom last: WallTime?, clocks: Clocks) {
        time = last ?? clocks.wall()
        monotonic = clocks.monotonic()
        _ = advance(clocks)
    }

    /// Reads both clocks, and returns the time that they agree on.
    mutating func advance(_ clocks: Clocks) -> WallTime {
        let (wall, now) = (clocks.wall(), clocks.monotonic())
        let expected = time.adding((now.nanoseconds - monotonic.nanoseconds) / 1000)
        monotonic = now
        guard expected.adding(Self.microseconds(Self.believedAtOnce)) < wall else {
            ahead = nil
            time = wall
            return time
        }
        time = expected
        let offset = wall.microseconds - now.nanoseconds / 1000
        // Two clocks drift apart by some seconds in a week.
        if let ahead, abs(ahead.offset - offset) < 60_000_000 {
            let lasted = (now.nanoseconds - ahead.since.nanoseconds) / 1000
            if lasted >= Self.microseconds(Self.believedAfter) {
                self.ahead = nil
                time = wall
            }
        } else {
            ahead = (offset, now)
        }
        return time
    }

    private static func microseconds(_ duration: Duration) -> Int64 { duration.components.seconds * 1_000_000 }
}
