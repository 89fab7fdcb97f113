import Foundation
import GatewayCore
import Testing

@Suite struct ClockTests {
    @Test func theSystemsClocksGoForward() {
        let clocks = Clocks.system
        let first = clocks.monotonic()
        #expect(clocks.monotonic() >= first)
        #expect(first.nanoseconds > 0)
        // The year 2020: a reading in other units would be far from it.
        #expect(clocks.wall() > WallTime(seconds: 1_577_836_800))
        #expect(clocks.wall() < WallTime(seconds: 1_577_836_800 * 4))
    }
}
