import GatewaySupport
import Testing

@testable import GatewayStore

@Suite("Background work")
struct BackgroundThrottleTests {
    @Test("Uses a quarter of an idle processor, and a tenth of a busy one")
    func share() {
        let used = Duration.milliseconds(10)
        #expect(BackgroundThrottle.pause(after: used, within: used) == .milliseconds(30))
        #expect(BackgroundThrottle.pause(after: used, within: .milliseconds(15)) == .milliseconds(30))
        #expect(BackgroundThrottle.pause(after: used, within: .milliseconds(16)) == .milliseconds(90))
        #expect(BackgroundThrottle.pause(after: .zero, within: .seconds(1)) == .zero)
    }

    @Test("A pause follows a block of work")
    func measuring() {
        var pace = BackgroundThrottle()
        pace.begin()
        var sum = 0
        for number in 0..<100_000 { sum &+= number }
        #expect(sum > 0 && pace.pause() > .zero)
    }
}
