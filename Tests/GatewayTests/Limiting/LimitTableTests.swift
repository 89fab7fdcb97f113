import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("The table of limits") struct LimitTableTests {
    private let rate = GCRA(count: 10, period: 10_000, burst: 10)

    private func key(_ number: Int, limit: UInt16 = 1) -> LimitKey {
        var key = LimitKey(limit: limit)
        key.caller = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1
        return key
    }

    @Test("The table agrees with a dictionary over random charges and sweeps")
    func againstADictionary() {
        var random = SplitMix(seed: 51)
        var table = LimitTable(capacity: 20_000, now: 0)
        var model: [LimitKey: Int64] = [:]
        let rate = GCRA(count: 10, period: 10_000_000_000, burst: 10)
        table.use(1, maximumDebt: rate.maximumDebt)
        var now: Int64 = 0
        for _ in 0..<40_000 {
            now += Int64.random(in: 0...3_000_000, using: &random)
            let key = key(Int.random(in: 0..<4000, using: &random))
            let expected = model[key].flatMap { $0 > now ? $0 : nil }
            let found = table.theoreticalArrival(of: key).flatMap { $0 > now ? $0 : nil }
            if found != expected { Issue.record("\(String(describing: found)), not \(String(describing: expected))") }
            let verdict = table.admit([LimitCharge(key: key, rate: rate)], now: now)
            #expect((verdict.rejected == nil) == (rate.wait(theoreticalArrival: expected, now: now) == 0))
            if verdict.rejected == nil { model[key] = rate.charged(theoreticalArrival: expected, now: now) }
        }
        #expect(table.count <= 4000)
    }

    @Test("Keys without debt are removed, one segment at a time")
    func sweeping() {
        var table = LimitTable(capacity: 20_000, now: 0)
        table.use(1, maximumDebt: rate.maximumDebt)
        for number in 0..<10_000 { _ = table.admit([LimitCharge(key: key(number), rate: rate)], now: 0) }
        #expect(table.count == 10_000)
        // Each call sweeps at most one segment, and only when a sweep is due.
        var now: Int64 = 1_000_000
        var before = table.count
        for _ in 0..<table.segmentCount {
            now += 60_000_000_000
            table.sweepIfDue(now: now)
            #expect(before - table.count <= 512)
            before = table.count
            table.sweepIfDue(now: now)
            #expect(table.count == before)
        }
        #expect(table.count == 0)
    }

    @Test("The table never exceeds its capacity, and a full table admits no additional calls")
    func overflow() {
        var table = LimitTable(capacity: 100, now: 0)
        table.use(1, maximumDebt: rate.maximumDebt)
        // The first hundred keys have spent their burst and still owe it.
        for number in 0..<100 {
            for _ in 0..<10 {
                #expect(table.admit([LimitCharge(key: key(number), rate: rate)], now: 0).rejected == nil)
            }
        }
        var admitted: [Int: Int] = [:]
        for round in 0..<12 {
            for number in 100..<5000 {
                let verdict = table.admit([LimitCharge(key: key(number), rate: rate)], now: 0)
                if verdict.rejected == nil { admitted[number, default: 0] += 1 }
                if round == 0, number % 100 == 0 { #expect(table.count <= 100) }
            }
            for number in 0..<100 {
                #expect(table.admit([LimitCharge(key: key(number), rate: rate)], now: 0).rejected != nil)
            }
        }
        // All newcomers together get the calls of the shared places, and none gets more than its limit.
        #expect(admitted.values.reduce(0, +) == Int(LimitTable.sharedSlots) * 10)
        #expect(admitted.values.allSatisfy { $0 <= 10 })
        // After half the period a newcomer still has its debt.
        let spender = admitted.keys.first!
        let half = 5_000 as Int64
        #expect(table.admit([LimitCharge(key: key(0), rate: rate, cost: 5)], now: half).rejected == nil)
        #expect(table.admit([LimitCharge(key: key(spender), rate: rate, cost: 6)], now: half).rejected != nil)
        // A newcomer that moves to its own place keeps the debt of the shared one.
        #expect(table.remove(inSegment: 0, now: half) { $0 == key(1) } == 1)
        #expect(table.admit([LimitCharge(key: key(spender), rate: rate, cost: 6)], now: half).rejected != nil)
        #expect(table.admit([LimitCharge(key: key(spender), rate: rate, cost: 5)], now: half).rejected == nil)
        #expect(table.admit([LimitCharge(key: key(spender), rate: rate)], now: half).rejected != nil)
        #expect(table.count == 100)
        let later = half + rate.maximumDebt
        #expect(table.admit([LimitCharge(key: key(spender), rate: rate, cost: 10)], now: later).rejected == nil)
        #expect(table.admit([LimitCharge(key: key(spender), rate: rate)], now: later).rejected != nil)
        #expect(table.count <= 100)
    }

    @Test("The keys of a removed limit are forgotten, and an impossible debt is corrected")
    func outOfUse() {
        var table = LimitTable(capacity: 1000, now: 0)
        table.use(1, maximumDebt: rate.maximumDebt)
        table.use(2, maximumDebt: rate.maximumDebt)
        for limit in [1, 2] as [UInt16] {
            _ = table.admit([LimitCharge(key: key(1, limit: limit), rate: rate)], now: 1_000_000)
        }
        table.use(1, maximumDebt: 0)
        // The clock was set back.
        for _ in 0..<2 * table.segmentCount { table.sweepIfDue(now: 5) }
        var now: Int64 = 5
        for _ in 0..<table.segmentCount {
            now -= 60_000_000_000
            table.sweepIfDue(now: now)
        }
        #expect(table.count == 1)
        #expect(table.theoreticalArrival(of: key(1)) == nil)
        #expect(table.theoreticalArrival(of: key(1, limit: 2)).map { $0 <= 5 + rate.maximumDebt } == true)
    }

    @Test("A slot has 40 bytes")
    func size() { #expect(MemoryLayout<LimitSegment.Slot>.stride == 40) }
}
