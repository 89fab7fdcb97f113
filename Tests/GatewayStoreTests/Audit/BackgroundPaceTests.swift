import Testing

@testable import GatewayStore

@Suite("Work in the background")
struct BackgroundPaceTests {
    @Test("A quarter of a processor where nobody else wants it, a hundredth where others do")
    func share() {
        let used = Duration.milliseconds(10)
        #expect(BackgroundPace.rest(after: used, within: used) == .milliseconds(30))
        #expect(BackgroundPace.rest(after: used, within: .milliseconds(15)) == .milliseconds(30))
        #expect(BackgroundPace.rest(after: used, within: .milliseconds(16)) == .milliseconds(990))
        #expect(BackgroundPace.rest(after: .zero, within: .seconds(1)) == .zero)
    }

    @Test("A block that worked is followed by a rest")
    func measuring() {
        var pace = BackgroundPace()
        pace.begin()
        var sum = 0
        for number in 0..<100_000 { sum &+= number }
        #expect(sum > 0 && pace.rest() > .zero)
    }
}
