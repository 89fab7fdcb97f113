internal import GatewayCore
internal import GatewaySupport

/// The wall-clock time, checked against the time since boot. Records expire by this time.
///
/// A wall clock that jumps ahead would make every revocation look expired, and once the clock was corrected, revoked
/// tokens would be valid again. The confirmed time follows the wall clock backwards at once. It follows a jump ahead
/// only if the difference is at most ``acceptedAtOnce``, or has stayed the same for ``acceptedAfter``. The owner stores
/// the time across restarts; the time between two runs counts as a difference.
struct ConfirmedTime: Sendable {
    /// The largest difference that is accepted at once: a pause between two runs, or a small correction.
    static let acceptedAtOnce = Duration.seconds(86_400)
    /// The time for which a larger difference must persist.
    static let acceptedAfter = Duration.seconds(7 * 86_400)

    /// The last confirmed time.
    private(set) var time: WallTime
    /// The latest of the wall clock's time at the start and the confirmed times so far, and the time since. A revocation counts
    /// up to then: if the clock was set back, tokens from before would be later than the revocation, and valid again once the
    /// clock is corrected. They have expired after ``acceptedAfter``, so it is the confirmed time again then. At a start, the
    /// wall clock counts, because the confirmed time lags if the gateway did not run for more than a day.
    private(set) var latest: WallTime
    /// The time since boot since which `latest` is ahead of the confirmed time.
    private var latestAhead: MonotonicInstant?
    private var sinceBoot: MonotonicInstant
    /// While the wall clock is too far ahead: its difference from the time since boot in microseconds, and the time at
    /// which that difference was first seen.
    private var ahead: (offset: Int64, since: MonotonicInstant)?

    /// Starts at the time stored before a restart, or at the wall clock's time if none is stored.
    init(stored last: WallTime?, clocks: Clocks) {
        time = last ?? clocks.wall()
        latest = max(time, clocks.wall())
        sinceBoot = clocks.sinceBoot()
        _ = advance(clocks)
    }

    /// Reads both clocks and returns the confirmed time.
    mutating func advance(_ clocks: Clocks) -> WallTime {
        let (wall, now) = (clocks.wall(), clocks.sinceBoot())
        let elapsed = (now.nanoseconds - sinceBoot.nanoseconds) / 1000
        let expected = time.adding(elapsed)
        sinceBoot = now
        defer { advanceLatest(by: elapsed, at: now) }
        guard expected.adding(Self.microseconds(Self.acceptedAtOnce)) < wall else {
            ahead = nil
            time = wall
            return time
        }
        time = expected
        let offset = wall.microseconds - now.nanoseconds / 1000
        // Two clocks may drift apart by some seconds in a week.
        if let ahead, abs(ahead.offset - offset) < 60_000_000 {
            let lasted = (now.nanoseconds - ahead.since.nanoseconds) / 1000
            if lasted >= Self.microseconds(Self.acceptedAfter) {
                self.ahead = nil
                time = wall
            }
        } else {
            ahead = (offset, now)
        }
        return time
    }

    private mutating func advanceLatest(by elapsed: Int64, at now: MonotonicInstant) {
        latest = max(latest.adding(elapsed), time)
        guard latest > time else {
            latestAhead = nil
            return
        }
        let since = latestAhead ?? now
        latestAhead = since
        if (now.nanoseconds - since.nanoseconds) / 1000 >= Self.microseconds(Self.acceptedAfter) {
            (latest, latestAhead) = (time, nil)
        }
    }

    private static func microseconds(_ duration: Duration) -> Int64 { duration.components.seconds * 1_000_000 }
}
