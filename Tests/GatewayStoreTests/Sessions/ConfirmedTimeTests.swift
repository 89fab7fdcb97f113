import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("The confirmed time of both clocks")
struct ConfirmedTimeTests {
    private let clock = ManualClock()
    private static let day = Duration.seconds(86_400)

    @Test("It equals the wall clock while both clocks advance together, and follows it backwards at once")
    func together() {
        var time = ConfirmedTime(stored: nil, clocks: clock.clocks)
        for _ in 0..<100 {
            clock.advance(by: Self.day)
            #expect(time.advance(clock.clocks) == clock.clocks.wall())
        }
        clock.setWall(WallTime(seconds: 1_000_000))
        #expect(time.advance(clock.clocks) == WallTime(seconds: 1_000_000))
    }

    @Test("It follows the wall clock through the suspend of the machine, however long that lasts")
    func suspended() {
        var time = ConfirmedTime(stored: nil, clocks: clock.clocks)
        for days in [1, 3, 100] {
            clock.suspend(for: Self.day * days)
            #expect(time.advance(clock.clocks) == clock.clocks.wall())
        }
    }

    @Test("A jump ahead is accepted at once up to a day, and a longer one after a week")
    func ahead() {
        var time = ConfirmedTime(stored: nil, clocks: clock.clocks)
        let start = clock.clocks.wall()
        clock.setWall(WallTime(seconds: start.seconds + 86_400))
        #expect(time.advance(clock.clocks) == clock.clocks.wall())
        clock.setWall(WallTime(seconds: start.seconds + 10 * 86_400))
        #expect(time.advance(clock.clocks).seconds == start.seconds + 86_400)
        for day in 1..<7 as Range<Int64> {
            clock.advance(by: Self.day)
            #expect(time.advance(clock.clocks).seconds == start.seconds + (1 + day) * 86_400)
        }
        clock.advance(by: Self.day)
        #expect(time.advance(clock.clocks) == clock.clocks.wall())
    }

    @Test("A further jump restarts the week")
    func changes() {
        var time = ConfirmedTime(stored: nil, clocks: clock.clocks)
        let start = clock.clocks.wall()
        for hours in 1...400 as ClosedRange<Int64> {
            clock.advance(by: .seconds(3600))
            clock.setWall(WallTime(seconds: start.seconds + (1000 + 2 * hours) * 3600))
            #expect(time.advance(clock.clocks).seconds == start.seconds + hours * 3600)
        }
    }

    @Test("The latest time goes on when the wall clock is set back, and does not follow a jump of more than a day")
    func latest() {
        var time = ConfirmedTime(stored: nil, clocks: clock.clocks)
        let start = clock.clocks.wall()
        clock.setWall(start.adding(-3_600_000_000))
        clock.advance(by: .seconds(10))
        #expect(time.advance(clock.clocks) == start.adding(-3_590_000_000))
        #expect(time.latest == start.adding(10_000_000))
        clock.setWall(start.adding(90_000_000_000))
        clock.advance(by: .seconds(10))
        _ = time.advance(clock.clocks)
        #expect(time.latest == start.adding(20_000_000))
        // After a week, tokens from before have expired.
        clock.setWall(time.time)
        clock.advance(by: Self.day * 8)
        _ = time.advance(clock.clocks)
        #expect(time.latest == time.time)
        // The time of the last run counts too.
        let wall = clock.clocks.wall()
        let cases: [(Int64, Int64)] = [(3_600_000_000, 3_600_000_000), (-3_600_000_000, 0), (-900_000_000_000, 0)]
        for (stored, latest) in cases {
            #expect(ConfirmedTime(stored: wall.adding(stored), clocks: clock.clocks).latest == wall.adding(latest))
        }
    }

    @Test("After a restart the time continues from the stored one, however far the wall clock is ahead")
    func restart() {
        let start = clock.clocks.wall()
        clock.setWall(WallTime(seconds: start.seconds + 3600))
        #expect(ConfirmedTime(stored: start, clocks: clock.clocks).time == clock.clocks.wall())
        clock.setWall(WallTime(seconds: start.seconds + 120 * 86_400))
        var time = ConfirmedTime(stored: start, clocks: clock.clocks)
        #expect(time.time == start)
        clock.advance(by: Self.day)
        #expect(time.advance(clock.clocks).seconds == start.seconds + 86_400)
    }
}
