import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Memory of limits", .serialized, .timeLimit(.minutes(10)))
struct LimitMemoryTests {
    /// The resident memory of this process in bytes, from /proc/self/statm (proc(5)).
    private static func resident() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        return pages * Int(getpagesize())
    }

    @Test("A million keys with the longest names take at most 128 MiB")
    func residentMemory() throws {
        let count = TestRun.count(full: 1_000_000, otherwise: 100_000)
        // Other tests in this process allocate memory too, so the test takes the lowest of three measurements.
        var least = Int.max
        for attempt in 0..<3 {
            let clock = ManualClock()
            let limit = Limit(name: "pair", per: [.sender, .recipient], count: 1, period: .seconds(86_400))
            let before = try Self.resident()
            let limiter = Limiter([limit], clocks: clock.clocks, capacity: count)
            let sender = Identity.test(UserName(canonical: String(repeating: "s", count: 111))!)
            for number in 0..<count {
                let recipient = UserName(canonical: "\(number)-" + String(repeating: "r", count: 100))!
                if !limiter.admits(sender, to: recipient) { Issue.record("\(number) was rejected") }
            }
            #expect(limiter.keyCount == count)
            least = min(least, try Self.resident() - before)
            // Each key has its place, so no second call is admitted.
            for number in stride(from: 0, to: count, by: 997) {
                let recipient = UserName(canonical: "\(number)-" + String(repeating: "r", count: 100))!
                #expect(!limiter.admits(sender, to: recipient))
            }
            if attempt == 0, TestRun.isFull { print("limits: \(count) keys take \(least >> 10) KiB") }
            if least <= (128 << 20) / (1_000_000 / count) { break }
        }
        #expect(least <= (128 << 20) / (1_000_000 / count))
    }

    @Test(
        "A hostile sender that fills the table frees no exhausted key and blocks no key with a place"
    )
    func hostileSender() {
        let clock = ManualClock()
        let limiter = Limiter(
            [
                Limit(name: "pair", per: [.sender, .recipient], count: 2, period: .seconds(600)),
                Limit(name: "sends", per: [.sender], count: 3, period: .seconds(600)),
            ], clocks: clock.clocks, capacity: 2000)
        let (spent, thrifty) = (Identity.test(.numbered(1)), Identity.test(.numbered(2)))
        for _ in 0..<2 { #expect(limiter.admits(spent, to: .numbered(9))) }
        #expect(limiter.admits(thrifty, to: .numbered(9)))
        var admitted = 0
        for number in 0..<5000 where limiter.admits(.test(.numbered(1000 + number)), to: .numbered(50_000 + number)) {
            admitted += 1
        }
        #expect(limiter.keyCount == 2000)
        // Half of the places belong to senders and half to pairs. The rest comes from the places that newcomers share.
        #expect((998...998 + 64 * 3).contains(admitted))
        #expect(limiter.refusing(spent, to: .numbered(9))?.name == "pair")
        #expect(limiter.admits(thrifty, to: .numbered(9)))
        #expect(limiter.refusing(thrifty, to: .numbered(9))?.name == "pair")
        clock.advance(by: .seconds(600))
        #expect(limiter.admits(.test(.numbered(77_777)), to: .numbered(88_888)))
        #expect(limiter.admits(spent, to: .numbered(9)))
    }
}
