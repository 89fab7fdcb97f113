import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore

@Suite("The time that both clocks agree on")
struct AgreedTimeTests {
    private let clock = ManualClock()
    private static let day = Duration.seconds(86_400)

    @Test("It is the wall clock's while both go on together, and follows it back at once")
    func together() {
        var time = AgreedTime(stored: nil, clocks: clock.clocks)
        for _ in 0..<100 {
            clock.advance(by: Self.day)
            #expect(time.advance(clock.clocks) == clock.clocks.wall())
        }
        clock.setWall(WallTime(seconds: 1_000_000))
        #expect(time.advance(clock.clocks) == WallTime(seconds: 1_000_000))
    }

    @Test("A jump ahead is believed at once up to a day, and beyond that after a week that it has lasted")
    func ahead() {
        var time = AgreedTime(stored: nil, clocks: clock.clocks)
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

    @Test("A jump that changes begins its week again")
    func changes() {
        var time = AgreedTime(stored: nil, clocks: clock.clocks)
        let start = clock.clocks.wall()
        for hours in 1...400 as ClosedRange<Int64> {
            clock.advance(by: .seconds(3600))
            clock.setWall(WallTime(seconds: start.seconds + (1000 + 2 * hours) * 3600))
            #expect(time.advance(clock.clocks).seconds == start.seconds + hours * 3600)
        }
    }

    @Test("After a restart the time goes on from what was kept, however far the wall clock is ahead")
    func restart() {
        let start = clock.clocks.wall()
        clock.setWall(WallTime(seconds: start.seconds + 3600))
        #expect(AgreedTime(stored: start, clocks: clock.clocks).time == clock.clocks.wall())
        clock.setWall(WallTime(seconds: start.seconds + 120 * 86_400))
        var time = AgreedTime(stored: start, clocks: clock.clocks)
        #expect(time.time == start)
        clock.advance(by: Self.day)
        #expect(time.advance(clock.clocks).seconds == start.seconds + 86_400)
    }
}
