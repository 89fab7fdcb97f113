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

    /// The number of refused sends of each pair.
    private struct Pair: Hashable {
        let from: String
        let to: String
    }

    @Test("10,000 random refused sends: the counts by pair are those of the sends, whatever they name beside the pair")
    func pairs() async throws {
        let gateway = TestGateway {
            $0.policy = Policy(send: [], tags: [])
            $0.limiter = Limiter([], clocks: ManualClock().clocks)
        }
        var random = SplitMix(seed: 7)
        var truth: [Pair: Int] = [:]
        let recipients = (0..<60).map { "r\($0)" }
        for _ in 0..<10_000 {
            // Few pairs are frequent, most are rare.
            let rank = Int.random(in: 0..<60, using: &random) * Int.random(in: 0..<60, using: &random) / 60
            let pair = Pair(
                from: TestGateway.users[Int.random(in: 0..<4, using: &random)], to: recipients[rank])
            truth[pair, default: 0] += 1
            var request = Sample.send(
                pns: ["apns", "fcmv1", "wns"].randomElement(using: &random)!, to: pair.to, as: pair.from)
            request.peer = .v4(UInt32.random(in: 1...3, using: &random))
            #expect(await gateway.serve(request).status == 403)
            if Int.random(in: 0..<20, using: &random) == 0 {
                gateway.clock.advance(by: .milliseconds(Int.random(in: 1...400, using: &random)))
            }
            if Int.random(in: 0..<100, using: &random) == 0 { gateway.gateway.flushRejections() }
        }
        gateway.gateway.flushRejections(all: true)
        var counts: [Pair: Int] = [:]
        for record in gateway.journal.records(.rejection) {
            let from = try #require(record.facts?.user?.text)
            let to = try #require(record.facts?.recipient?.text)
            counts[Pair(from: from, to: to), default: 0] += record.count ?? 1
        }
        #expect(counts == truth)
        #expect(gateway.journal.records(.rejection).count < 10_000)
    }

    @Test("A record names only what all its rejections have in common")
    func common() throws {
        var coalesced = CoalescedRejections()
        func record(_ change: (inout CallFacts) -> Void) -> JournalRecord {
            var record = Self.record("zoe", .sendNotAllowed)
            record.facts?.recipient = UserName(canonical: "ivan")
            if var facts = record.facts {
                change(&facts)
                record.facts = facts
            }
            return record
        }
        for (time, service) in [PushService.apns, .wns, .apns].enumerated() {
            _ = coalesced.add(
                record {
                    $0.pns = service
                    $0.bytes = time
                }, now: Self.at(Int64(time)))
        }
        for recipient in ["carol", "bob", "alice", "judy"] {
            let other = record { $0.recipient = UserName(canonical: recipient) }
            // Nobody else is named for what ivan was to get.
            #expect(coalesced.add(other, now: Self.at(5)) == [other])
            #expect(coalesced.add(other, now: Self.at(6)).isEmpty)
        }
        // Neither are registrations, tags and addresses of other calls.
        for other in [
            record { $0.registration = Sample.label }, record { $0.registration = Sample.other },
            record { $0.tags = [Tag("topic:a")].compactMap(\.self) }, record { $0.audience = "ops" },
            record { $0.peer = .v4(9) },
        ] {
            #expect(coalesced.add(other, now: Self.at(7)) == [other])
        }
        let merged = try #require(
            coalesced.flush(now: Self.at(2000)).first { $0.facts?.recipient?.text == "ivan" && $0.count == 2 })
        #expect(merged.facts?.pns == nil && merged.facts?.bytes == nil)
    }

    @Test("The rejections of a caller beyond the bound are counted without a name, and other callers are named")
    func others() throws {
        var coalesced = CoalescedRejections()
        func send(_ user: String, _ recipient: String) -> JournalRecord {
            var record = Self.record(user, .sendNotAllowed)
            record.facts?.recipient = UserName(canonical: recipient)
            return record
        }
        var records: [JournalRecord] = []
        for number in 0..<3000 { records += coalesced.add(send("eve", "r\(number)"), now: Self.at(0)) }
        for number in 0..<10 { records += coalesced.add(send("bob", "r\(number)"), now: Self.at(1)) }
        #expect(records.count == CoalescedRejections.maximumPerSecond)
        for second in 1...20 { records += coalesced.flush(now: Self.at(Int64(second) * 1000)) }
        #expect(coalesced.kinds == 0 && coalesced.waiting == 0)
        let unnamed = records.filter { $0.facts?.recipient == nil }
        #expect(unnamed.map(\.count) == [3000 - CoalescedRejections.maximumPerUser])
        #expect(unnamed.first?.reason == "and \(3000 - CoalescedRejections.maximumPerUser) others")
        #expect(unnamed.first?.facts?.user?.text == "eve")
        #expect(records.count { $0.facts?.user?.text == "bob" && $0.facts?.recipient != nil } == 10)
        #expect(Self.total(records) == 3010)
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
