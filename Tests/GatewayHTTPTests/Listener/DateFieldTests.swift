import GatewayCore
import GatewaySupport
import Synchronization
import Testing

@testable import GatewayHTTP

@Suite struct DateFieldTests {
    @Test(
        "The date has the format of HTTP",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_709_164_799, "Wed, 28 Feb 2024 23:59:59 GMT"), (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        ] as [(Int64, String)])
    func theDateHasTheFormatOfHTTP(_ seconds: Int64, _ text: String) {
        var date = DateField(clocks: Clocks(monotonic: { .init(nanoseconds: 0) }, wall: { .init(seconds: seconds) }))
        #expect(String(decoding: date.current(), as: UTF8.self) == text)
    }

    @Test("The date follows the clock") func followsTheClock() {
        let now = ManualWall()
        var date = DateField(clocks: Clocks(monotonic: { .init(nanoseconds: 0) }, wall: { now.time }))
        #expect(String(decoding: date.current(), as: UTF8.self).hasSuffix("00:00:00 GMT"))
        now.set(1)
        #expect(String(decoding: date.current(), as: UTF8.self).hasSuffix("00:00:01 GMT"))
    }

    private final class ManualWall: Sendable {
        private let seconds = Mutex<Int64>(0)
        var time: WallTime { WallTime(seconds: seconds.withLock { $0 }) }
        func set(_ value: Int64) { seconds.withLock { $0 = value } }
    }
}
