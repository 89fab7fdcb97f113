import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Statistics: minutes and latencies")
struct MinuteTableTests {
    private static let now: Int64 = 1_795_027_230_000_000
    private static let minute = MinuteTable.microseconds

    @Test("Calls count in the minute of their line, by result and latency")
    func counting() throws {
        var table = MinuteTable()
        for latency in [0, 3, 3, nil] {
            table.add(.send(.accepted, count: 1, latency: latency), at: Self.now, now: Self.now)
        }
        table.add(.send(.failed, count: 1, latency: 12), at: Self.now - Self.minute, now: Self.now)
        table.add(.send(.refused, count: 5, latency: nil), at: Self.now, now: Self.now)
        table.add(.otherRefusal(count: 2), at: Self.now, now: Self.now)
        table.add(.ignored, at: Self.now, now: Self.now)
        let all = table.minutes(since: .min, until: .max, now: Self.now)
        #expect(all.count == 1440)
        let last = try #require(all.last)
        #expect(last.start == WallTime(microseconds: Self.now / Self.minute * Self.minute))
        #expect([last.sends.accepted, last.sends.failed, last.sends.refused, last.otherRefusals] == [4, 0, 5, 2])
        #expect(last.latency.counts == [1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        #expect(all[1438].sends.failed == 1 && all[1438].latency.total == 1)
        #expect(all.dropLast(2).allSatisfy { $0.sends.total + $0.otherRefusals + $0.latency.total == 0 })
        #expect(table.minutes(since: Self.now, until: Self.now + 1, now: Self.now).count == 1)
        #expect(table.minutes(since: Self.now - 91 * 1_000_000, until: Self.now, now: Self.now).count == 3)
        for (since, until) in [
            (Self.now + Self.minute, Int64.max), (.max, .min), (.min, Self.now - 1441 * Self.minute),
        ] {
            #expect(table.minutes(since: since, until: until, now: Self.now).isEmpty)
        }
    }

    @Test("Old and future lines displace nothing")
    func bounds() {
        var table = MinuteTable()
        let send = CountedLine.send(.accepted, count: 1, latency: nil)
        for minutes in [0, 1439, 1440, 5000, -1, -2, -1440, -600_000] {
            table.add(send, at: Self.now - Int64(minutes) * Self.minute, now: Self.now)
        }
        table.add(send, at: .min, now: Self.now)
        table.add(send, at: .max, now: Self.now)
        let all = table.minutes(since: .min, until: .max, now: Self.now)
        #expect(all.map(\.sends.accepted).reduce(0, +) == 2)
        #expect(all.first?.sends.accepted == 1 && all.last?.sends.accepted == 1)
        // A day later, only the line of the next minute is left, and the slots are used again.
        let later = Self.now + 1440 * Self.minute
        #expect(table.minutes(since: .min, until: .max, now: later).map(\.sends.accepted).reduce(0, +) == 1)
        table.add(send, at: later, now: later)
        #expect(table.minutes(since: .min, until: .max, now: later).last?.sends.accepted == 1)
    }

    @Test("Quantiles are bounds of buckets")
    func quantiles() {
        #expect(LatencyHistogram().bound(at: 0.5) == nil)
        var histogram = LatencyHistogram([0, 0, 98, 0, 0, 1])
        histogram += LatencyHistogram([Int](repeating: 0, count: 12) + [1, 7])
        #expect(histogram.total == 100)
        #expect(histogram.bound(at: 0) == .atMost(milliseconds: 5))
        #expect(histogram.bound(at: 0.5) == .atMost(milliseconds: 5))
        #expect(histogram.bound(at: 0.99) == .atMost(milliseconds: 50))
        #expect(histogram.bound(at: 1) == .above(milliseconds: 5000))
        let bounds = [0, 1, 2, 3, 5, 6, 5000, 5001, UInt64.max].map(LatencyBuckets.bucket)
        #expect(bounds == [0, 0, 1, 2, 2, 3, 11, 12, 12])
    }

    @Test("Each line counts once: sends with their outcome, rejections with their count")
    func effects() {
        func effect(_ kind: String?, _ action: String?, _ result: String?, latency: Int? = nil) -> CountedLine {
            CountedLine(kind: kind, action: action, result: result, count: 3, latency: latency)
        }
        #expect(effect("intent", "send", nil) == .ignored)
        #expect(effect("outcome", "send", "accepted", latency: 4) == .send(.accepted, count: 3, latency: 4))
        #expect(effect("outcome", "send", "unknown-after-crash") == .send(.failed, count: 3, latency: nil))
        #expect(effect("outcome", "send", "unheard-of") == .send(.failed, count: 3, latency: nil))
        #expect(effect("outcome", "register", "accepted") == .ignored)
        #expect(effect("refusal", "send", "rate-limited") == .send(.refused, count: 3, latency: nil))
        #expect(effect("refusal", nil, "several") == .otherRefusal(count: 3))
        #expect(effect("refusal", "token", "login-failed") == .otherRefusal(count: 3))
        #expect(effect("refusal", nil, "ban-ended") == .ignored)
        #expect(effect("replay", "send", "accepted") == .ignored)
        #expect(effect(nil, "send", "accepted") == .ignored)
    }
}
