import GatewayCore
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Bounds of the throttle's tables")
struct ThrottleTableTests {
    private let second: Int64 = 1_000_000_000
    private let rate = GCRA(count: 1, period: 15_000_000_000, burst: 20)

    private func fail(_ table: inout ThrottleTable<UInt32>, _ key: UInt32, now: Int64) {
        let bucket = table.bucket(for: key, in: AddressPrefix(.v4(key)), now: now)
        table.charge(bucket, now: now)
    }

    @Test("The table never exceeds its capacity")
    func capacity() {
        var table = ThrottleTable<UInt32>(rate: rate, capacity: 160)
        var random = SplitMix(seed: 4)
        for number in 0..<20_000 {
            fail(&table, UInt32.random(in: 0 ... .max, using: &random), now: Int64(number) * second / 100)
            #expect(table.count <= 160)
        }
    }

    @Test("Strangers of one block share a bucket in a full table")
    func strangersShare() {
        var table = ThrottleTable<UInt32>(rate: rate, capacity: 160)
        // All keys have the same debt, so that no key has a lower one.
        for key in 0..<UInt32(150) { for _ in 0..<20 { fail(&table, key << 8, now: 0) } }
        let first = table.bucket(for: 0xC000_0201, in: AddressPrefix(.v4(0xC000_0201)), now: 0)
        // The first eviction frees one place in 16. Within the same second there is no further eviction.
        guard case .own = first else { return #expect(Bool(false), "the eviction made no room") }
        for key in 0..<UInt32(10) { fail(&table, 0xD000_0000 + key << 8, now: 0) }
        let shared = [1, 2].map {
            table.bucket(for: 0xC000_0200 + $0, in: AddressPrefix(.v4(0xC000_0200 + $0)), now: 0)
        }
        #expect(shared[0] == shared[1] && shared[0] == .shared(AddressPrefix(.v4(0xC000_0200))))
        let sixes = [UInt64(0x2001_0db8_0001_0001), 0x2001_0db8_0001_0002, 0x2001_0db8_0002_0001].map {
            AddressPrefix(.v6($0, 5))
        }
        #expect(sixes[0] == sixes[1] && sixes[1] != sixes[2])
    }

    @Test("The lowest debts are evicted first, so that a throttled key stays throttled")
    func leastFirst() {
        var table = ThrottleTable<UInt32>(rate: rate, capacity: 160)
        for key in 0..<UInt32(50) { for _ in 0..<20 { fail(&table, key, now: 0) } }
        // Thousands of newcomers have a small debt each.
        for number in 0..<UInt32(5000) { fail(&table, 10_000 + number, now: Int64(number) * second / 1000) }
        for key in 0..<UInt32(50) {
            let bucket = table.bucket(for: key, in: AddressPrefix(.v4(key)), now: 5 * second)
            #expect(bucket == .own(key) && table.wait(at: bucket, now: 5 * second) > 0)
        }
    }

    @Test("A key without debt makes room for a new one")
    func paidOff() {
        var table = ThrottleTable<UInt32>(rate: rate, capacity: 160)
        for key in 0..<UInt32(140) { for _ in 0..<20 { fail(&table, key, now: 0) } }
        for key in 140..<UInt32(150) { fail(&table, key, now: 0) }
        #expect(table.bucket(for: 9999, in: .local, now: 16 * second) == .own(9999))
        #expect(table.count == 141)
        for key in 0..<UInt32(140) { #expect(table.wait(at: .own(key), now: 0) > 0) }
    }

    @Test("A refund reverts a charge")
    func givingBack() {
        var table = ThrottleTable<UInt32>(rate: rate, capacity: 160)
        for _ in 0..<100 {
            fail(&table, 1, now: 0)
            table.refund(.own(1), now: 0)
        }
        #expect(table.wait(at: .own(1), now: 0) == 0 && table.count == 0)
    }

    @Test("The table of known pairs is bounded, and evicts the pair that was unseen for longest")
    func knownPairs() {
        var known = KnownLogins(rate: rate, capacity: 100)
        func pair(_ number: Int) -> KnownLogins.Pair { .init(user: .test("user\(number)"), address: .v4(1)) }
        for number in 0..<1000 {
            known.recordSuccess(of: pair(number), now: Int64(number) * second)
            known.recordSuccess(of: pair(0), now: Int64(number) * second)
            #expect(known.count <= 100)
        }
        #expect(known.contains(pair(999), now: 1000 * second) && known.contains(pair(0), now: 1000 * second))
        #expect(!known.contains(pair(1), now: 1000 * second))
    }

    @Test("A user's logins from any number of addresses evict no known pair of another user")
    func addressesOfOneUser() {
        var known = KnownLogins(rate: rate, capacity: 4096)
        func pair(_ user: String, _ address: Int) -> KnownLogins.Pair {
            .init(user: .test(user), address: .v6(UInt64(address), 0))
        }
        known.recordSuccess(of: pair("alice", 1), now: 0)
        for number in 0..<10_000 { known.recordSuccess(of: pair("mallory", number), now: Int64(number)) }
        #expect(known.contains(pair("alice", 1), now: 10_000))
        #expect(known.count == 257)
        // The user's own oldest address is evicted.
        #expect(known.contains(pair("mallory", 9744), now: 10_000))
        #expect(!known.contains(pair("mallory", 9743), now: 10_000))
        known.removeAll(of: .test("mallory"))
        #expect(known.count == 1)
    }

    @Test("An eviction from a full table of the default size takes milliseconds")
    func fullSize() {
        var table = ThrottleTable<UInt32>(rate: rate, capacity: 65_536)
        for key in 0..<UInt32(61_440) { fail(&table, key, now: 0) }
        let time = cpuTime { fail(&table, 100_000, now: 0) }
        // Unoptimized builds take about ten times longer.
        #expect(time < .milliseconds(250))
    }
}
