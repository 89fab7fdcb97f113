import Foundation
import GatewaySupport
import Testing

@Suite struct ClockTests {
    @Test("The system clocks advance and use the right units") func theSystemClocksAdvanceAndUseTheRightUnits() {
        let clocks = Clocks.system
        let first = clocks.monotonic()
        #expect(clocks.monotonic() >= first)
        #expect(first.nanoseconds > 0)
        // The bounds lie in the years 2020 and 2169, so that a reading in other units is outside them.
        #expect(clocks.wall() > WallTime(seconds: 1_577_836_800))
        #expect(clocks.wall() < WallTime(seconds: 1_577_836_800 * 4))
    }

    @Test("The time since boot includes that of a suspend, so it is that of the kernel's CLOCK_BOOTTIME")
    func timeSinceBoot() {
        func kernel() -> Int64 {
            var now = timespec()
            clock_gettime(CLOCK_BOOTTIME, &now)
            return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
        }
        let clocks = Clocks.system
        let before = kernel()
        let between = clocks.sinceBoot().nanoseconds
        #expect(before <= between && between <= kernel())
        #expect(clocks.monotonic().nanoseconds <= clocks.sinceBoot().nanoseconds)
    }
}
