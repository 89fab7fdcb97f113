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
}
