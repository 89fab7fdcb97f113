import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Journal: trust in the wall clock")
struct RetentionClockTests {
    private static let noon = WallTime(seconds: 1_795_000_000)
    private static let hour: Int64 = 3_600_000_000

    private static func instant(hours: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: hours * 3600 * 1_000_000_000)
    }

    private static func clock(
        ahead hours: Int64 = 0, last: WallTime? = noon, newest: WallTime? = noon
    ) -> RetentionClock {
        RetentionClock(
            lastLine: last, newestFile: newest, startTime: noon.adding(hours * hour), start: instant(hours: 0))
    }

    @Test("A clock that continues from the journal's end is trusted after an hour")
    func agreeing() {
        var clock = Self.clock(ahead: 5)
        #expect(clock.trust(now: Self.noon.adding(5 * Self.hour), at: Self.instant(hours: 0)) == .tooEarly)
        #expect(clock.trust(now: Self.noon.adding(6 * Self.hour), at: Self.instant(hours: 1)) == .trusted)
    }

    @Test(
        "A clock far from the last line or the newest file is distrusted for a day",
        arguments: [-120 * 24, 49, 120 * 24])
    func disagreeing(hours: Int64) {
        for (last, newest) in [
            (Self.noon, Self.noon.adding(hours * Self.hour)), (Self.noon.adding(hours * Self.hour), Self.noon),
        ] {
            var clock = Self.clock(ahead: hours, last: last, newest: newest)
            let start = Self.noon.adding(hours * Self.hour)
            for run in [0, 1, 23] as [Int64] {
                guard
                    case .distrusted(let reason) = clock.trust(
                        now: start.adding(run * Self.hour), at: Self.instant(hours: run))
                else {
                    Issue.record("trusted after \(run) h")
                    continue
                }
                #expect(reason.contains(start.description))
            }
            #expect(clock.trust(now: start.adding(24 * Self.hour), at: Self.instant(hours: 24)) == .trusted)
        }
    }

    @Test("A clock that is set at run time restarts the waiting time")
    func set() {
        var clock = Self.clock()
        #expect(clock.trust(now: Self.noon.adding(2 * Self.hour), at: Self.instant(hours: 2)) == .trusted)
        let wrong = Self.noon.adding(120 * 24 * Self.hour)
        #expect(clock.trust(now: wrong.adding(3 * Self.hour), at: Self.instant(hours: 3)) == .tooEarly)
        guard case .distrusted = clock.trust(now: wrong.adding(5 * Self.hour), at: Self.instant(hours: 5)) else {
            Issue.record("trusted")
            return
        }
        // The clock is corrected.
        #expect(clock.trust(now: Self.noon.adding(6 * Self.hour), at: Self.instant(hours: 6)) == .tooEarly)
        #expect(clock.trust(now: Self.noon.adding(7 * Self.hour), at: Self.instant(hours: 7)) == .trusted)
    }

    @Test("The extreme times do not overflow")
    func extremes() {
        for time in [WallTime(microseconds: .min), WallTime(microseconds: .max)] {
            var clock = Self.clock(last: time, newest: nil)
            #expect(clock.trust(now: Self.noon, at: Self.instant(hours: 0)) != .trusted)
            var start = RetentionClock(lastLine: nil, newestFile: nil, startTime: time, start: Self.instant(hours: 0))
            #expect(start.trust(now: Self.noon, at: Self.instant(hours: 0)) == .tooEarly)
        }
    }
}
