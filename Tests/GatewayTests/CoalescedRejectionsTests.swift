import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Coalesced rejections")
struct CoalescedRejectionsTests {
    private static func record(
        _ user: String, _ code: RejectionCode = .rateLimited, rule: String? = nil
    ) -> JournalRecord {
        var facts = CallFacts(call: CallID(process: 1, number: 1), peer: Peer(address: .v4(1), text: "192.0.2.1"))
        facts.user = UserName(canonical: user)
        facts.rule = rule
        return JournalRecord(.rejection, facts: facts, result: code.rawValue)
    }

    private static func at(_ milliseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
    }

    /// The number of rejections that the records count.
    private static func total(_ records: [JournalRecord]) -> Int { records.reduce(0) { $0 + ($1.count ?? 1) } }

    @Test("The first rejection is recorded at once, and later ones once a second with their count")
    func rhythm() {
        var coalesced = CoalescedRejections()
        #expect(coalesced.add(Self.record("eve"), now: Self.at(0)).map(\.count) == [nil])
        for time in 1..<400 { #expect(coalesced.add(Self.record("eve"), now: Self.at(Int64(time))).isEmpty) }
        #expect(coalesced.flush(now: Self.at(999)).isEmpty)
        #expect(coalesced.flush(now: Self.at(1000)).map(\.count) == [399])
        #expect(coalesced.add(Self.record("eve"), now: Self.at(1500)).isEmpty)
        #expect(coalesced.add(Self.record("eve"), now: Self.at(2000)).map(\.count) == [2])
        #expect(coalesced.flush(now: Self.at(3000)).isEmpty)
        #expect(coalesced.add(Self.record("eve"), now: Self.at(3001)).map(\.count) == [nil])
        #expect(coalesced.flush(now: Self.at(3001), all: true).isEmpty)
        #expect(coalesced.add(Self.record("eve"), now: Self.at(3002)).count == 1)
        #expect(coalesced.add(Self.record("eve"), now: Self.at(3003)).isEmpty)
        #expect(coalesced.flush(now: Self.at(3003), all: true).map(\.count) == [nil])
    }

    @Test("Rejections coalesce only with the same user, code, rule and limit")
    func kinds() {
        var coalesced = CoalescedRejections()
        var limited = Self.record("eve")
        limited.facts?.limit = "pair"
        for record in [
            limited, Self.record("eve"), Self.record("bob"), Self.record("eve", .sendNotAllowed),
            Self.record("eve", .sendNotAllowed, rule: "send[1]"),
        ] {
            #expect(coalesced.add(record, now: Self.at(0)) == [record])
            #expect(coalesced.add(record, now: Self.at(1)).isEmpty)
        }
        #expect(coalesced.flush(now: Self.at(1000)).count == 5)
    }

    @Test("A flood of rejections writes a bounded number of records that count all of them")
    func flood() {
        var coalesced = CoalescedRejections()
        var random = SplitMix(seed: 1)
        var written: [(time: Int64, records: [JournalRecord])] = []
        let (rounds, users) = (200_000, 20_000)
        for round in 0..<rounds {
            let time = Int64(round) / 20
            let record = Self.record("user\(Int.random(in: 0..<users, using: &random))")
            written.append((time, coalesced.add(record, now: Self.at(time))))
            if round % 20_000 == 19_999 { written.append((time + 1, coalesced.flush(now: Self.at(time + 1)))) }
            #expect(coalesced.kinds <= CoalescedRejections.capacity)
        }
        let all = written.flatMap(\.records)
        for second in 0..<10 {
            let records = written.filter { $0.time / 1000 == second }.flatMap(\.records)
            #expect(records.count { $0.facts != nil } <= 2 * CoalescedRejections.maximumPerSecond)
            #expect(records.count { $0.facts == nil } <= 2)
        }
        // Ten seconds overlap at most eleven windows.
        #expect(all.count <= 11 * (CoalescedRejections.maximumPerSecond + 1))
        #expect(all.contains { $0.result == "several" && $0.facts == nil })
        let rest = coalesced.flush(now: Self.at(20_000), all: true)
        #expect(Self.total(all) + Self.total(rest) == rounds)
        #expect(coalesced.waiting == 0)
    }

    @Test("A gateway writes the first rejection at once and the others after a second")
    func gateway() async throws {
        let gateway = TestGateway { $0.policy = Policy(send: [], tags: []) }
        for _ in 0..<5 { #expect(await gateway.serve(Sample.send(as: "eve")).status == 403) }
        #expect(gateway.journal.records(.rejection).map(\.count) == [nil])
        gateway.gateway.flushRejections()
        #expect(gateway.journal.records(.rejection).count == 1)
        gateway.clock.advance(by: .seconds(1))
        gateway.gateway.flushRejections()
        #expect(gateway.journal.records(.rejection).map(\.count) == [nil, 4])
    }
}
