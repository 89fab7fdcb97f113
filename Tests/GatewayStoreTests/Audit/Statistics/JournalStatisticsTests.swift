import Dispatch
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Statistics of a journal", .timeLimit(.minutes(5)))
struct JournalStatisticsTests {
    private static let everything = WallTime(microseconds: 0)..<WallTime(microseconds: .max)

    /// Writes random calls: sends with an outcome, rejections, and other records. Some intents have no outcome yet.
    private static func write(
        _ numbers: Range<Int>, to journal: JournalFile, of fixture: Fixture, _ random: inout SplitMix
    ) async throws {
        for number in numbers {
            var facts = Fixture.facts(number, to: "user\(Int.random(in: 0..<7, using: &random))")
            facts.user = UserName(canonical: "user\(Int.random(in: 0..<5, using: &random))")
            facts.pns = .apns
            var records: [JournalRecord] = []
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                if Bool.random(using: &random) { facts.recipient = nil }
                let count = Bool.random(using: &random) ? Int.random(in: 2..<9, using: &random) : nil
                records = [
                    JournalRecord(.rejection, facts: facts, result: RejectionCode.rateLimited.rawValue, count: count)
                ]
            case 1:
                facts.action = .registerUpdate
                records = [
                    JournalRecord(.intent, facts: facts), JournalRecord(.outcome, facts: facts, result: "accepted"),
                ]
            case 2: records = [JournalRecord(.intent, facts: facts)]
            case 3: records = [JournalRecord(.replay, facts: facts, result: "accepted")]
            default:
                let isAccepted = Int.random(in: 0..<4, using: &random) > 0
                let milliseconds = Bool.random(using: &random) ? Int.random(in: 0..<7000, using: &random) : nil
                records = [
                    JournalRecord(.intent, facts: facts),
                    JournalRecord(
                        .outcome, facts: facts,
                        result: (isAccepted ? CallResult.accepted : .backendTimedOut).rawValue, status: 200,
                        milliseconds: milliseconds),
                ]
            }
            try await journal.record(records)
            fixture.hands.pass(seconds: Int64.random(in: 0..<1500, using: &random))
        }
    }

    /// Compares all results with the lines on disk.
    private static func compare(_ fixture: StatisticsFixture, _ random: inout SplitMix) async throws {
        let expected = CountedByHand(lines: try fixture.journal.lines())
        let all = try await fixture.pairs()
        #expect(all.coverage.isComplete)
        #expect(all.coverage.nextNumber == UInt64(expected.lines.count + 1))
        #expect(all.coverage.countedUntil == fixture.journal.hands.time)
        #expect(StatisticsFixture.text(all) == expected.pairs(everything))
        #expect(all.others.total == 0 && all.omittedPairs == 0)
        let now = fixture.journal.hands.time.microseconds
        for _ in 0..<30 {
            let times = (0..<2).map { _ in now - Int64.random(in: -3_600_000_000...600_000_000_000, using: &random) }
            let user = UserName(canonical: "user\(Int.random(in: 0..<7, using: &random))")
            let found = try await fixture.pairs {
                $0.since = WallTime(microseconds: times.min() ?? 0)
                $0.until = WallTime(microseconds: times.max() ?? 0)
                $0.user = user
            }
            #expect(
                StatisticsFixture.text(found)
                    == expected.pairs(found.range) {
                        $0.members["user"] as? String == user?.text || $0.recipient == user?.text
                    })
        }
        let minutes = try await fixture.statistics.minutes(since: nil, until: nil)
        #expect(minutes.coverage.isComplete)
        let first = try #require(minutes.minutes.first?.start)
        let found = minutes.minutes.filter { $0.sends.total > 0 }.map {
            ($0.start.description, "\(StatisticsFixture.text($0.sends)) \($0.latency.counts)")
        }
        #expect(Dictionary(uniqueKeysWithValues: found) == expected.minutes(first..<WallTime(microseconds: .max)))
    }

    @Test("Counts equal those of the lines, with rotation, restarts and random moments of counting", arguments: 0..<4)
    func agreement(seed: UInt64) async throws {
        var random = SplitMix(seed: seed)
        let fixture = Fixture(segmentBytes: 6000, isSigned: true)
        var statistics = StatisticsFixture(fixture)
        var number = 0
        for _ in 0..<3 {
            let journal = try fixture.open()
            for _ in 0..<8 {
                let count = Int.random(in: 1..<25, using: &random)
                try await Self.write(number..<(number + count), to: journal, of: fixture, &random)
                number += count
                if Bool.random(using: &random) { try statistics.update() }
            }
            await journal.close()
            try statistics.updateAll()
            try await Self.compare(statistics, &random)
            // A restart counts the same.
            if Bool.random(using: &random) {
                statistics.statistics.close()
                statistics = StatisticsFixture(fixture)
                try statistics.updateAll()
                try await Self.compare(statistics, &random)
            }
        }
        statistics.statistics.close()
    }

    @Test("Lines that a failed write left do not count, whenever they are counted", arguments: 1..<16)
    func failedWrites(call: Int) async throws {
        let fixture = Fixture(segmentBytes: 2000)
        let journal = try fixture.open()
        let statistics = StatisticsFixture(fixture)
        fixture.files.fail([call], leaving: .all)
        for number in 0..<12 {
            do throws(JournalUnavailable) {
                try await journal.record([Fixture.intent(number), Fixture.outcome(number, to: "user\(number)")])
            } catch {
                try statistics.update()
                await fixture.untilWell(journal)
            }
            try statistics.update()
        }
        await journal.close()
        try statistics.updateAll()
        let found = try await statistics.pairs()
        #expect(found.coverage.isComplete)
        #expect(StatisticsFixture.text(found) == CountedByHand(lines: try fixture.lines()).pairs(Self.everything))
    }

    @Test("Counting starts with a query and continues with segments whose index is built later, newest first")
    func coverage() async throws {
        let fixture = Fixture(segmentBytes: 2000)
        let journal = try fixture.open()
        for number in 0..<30 {
            try await journal.record([Fixture.intent(number), Fixture.outcome(number)])
            fixture.hands.pass(seconds: 3600)
        }
        let index = AuditIndex(directory: fixture.directory.path)
        let statistics = JournalStatistics(
            index, followers: fixture.configuration.followers, clocks: fixture.configuration.clocks)
        #expect(!statistics.isStarted && statistics.countableEnd() == nil)
        let before = try await statistics.pairs(PairQuery())
        #expect(before.rows.isEmpty && !before.coverage.isComplete && before.coverage.countedUntil == nil)
        #expect(statistics.isStarted)
        func update() throws {
            let end = statistics.countableEnd()
            try index.follow(onUpdate: { lines, segments in
                if let end { statistics.count(lines, segments, before: end) }
            })
            statistics.fills.sync {}
        }
        try update()
        let first = try await statistics.pairs(PairQuery())
        // Only the segment in use is counted, because the others have no index.
        #expect(!first.coverage.isComplete && first.total.total < 30)
        let from = try #require(first.coverage.countedFrom)
        #expect(first.coverage.countedUntil == fixture.hands.time)
        var recent = PairQuery()
        recent.since = WallTime(microseconds: from.microseconds + 3_600_000_000)
        #expect(try await statistics.pairs(recent).coverage.isComplete)
        try index.buildMissing()
        try update()
        let all = try await statistics.pairs(PairQuery())
        #expect(all.coverage.isComplete && all.total.accepted == 30)
        await journal.close()
        statistics.close()
        await #expect(throws: HistoryUnavailable.self) { try await statistics.pairs(PairQuery()) }
        #expect(!statistics.isStarted)
    }

    @Test("A damaged index is built again, and no line counts twice")
    func damage() async throws {
        let fixture = Fixture(segmentBytes: 60_000)
        let journal = try fixture.open()
        for number in 0..<400 {
            try await journal.record([Fixture.intent(number), Fixture.outcome(number, to: "user\(number % 10)")])
        }
        await journal.close()
        try AuditIndex(directory: fixture.directory.path).update()
        let name = try #require(try fixture.directory.names().filter { $0.hasPrefix("index-") }.min())
        var bytes = try fixture.directory.bytes(name)
        bytes[SegmentIndex.headerBytes + SegmentIndex.pageBytes + 7] ^= 1
        try IndexDamage.overwrite(fixture.directory(name), with: bytes)
        let statistics = StatisticsFixture(fixture)
        try statistics.update()
        #expect(try await !statistics.pairs().coverage.isComplete)
        try statistics.updateAll()
        let found = try await statistics.pairs()
        #expect(found.coverage.isComplete)
        #expect(StatisticsFixture.text(found) == CountedByHand(lines: try fixture.lines()).pairs(Self.everything))
    }

    @Test("Days that retention has removed from the journal are forgotten")
    func retention() async throws {
        let fixture = Fixture(segmentBytes: 2000)
        let journal = try fixture.open()
        for number in 0..<30 {
            try await journal.record([Fixture.intent(number), Fixture.outcome(number)])
            fixture.hands.pass(seconds: 43_200)
        }
        await journal.close()
        let statistics = StatisticsFixture(fixture)
        try statistics.updateAll()
        #expect(try await statistics.pairs().total.total == 30)
        for name in try JournalReading.segments(in: fixture.directory).prefix(5) {
            try PrivateFiles.remove(fixture.directory(name))
        }
        try statistics.update()
        let found = try await statistics.pairs()
        let again = StatisticsFixture(fixture)
        try again.updateAll()
        let rest = try await again.pairs()
        #expect(rest.total.total < 30 && found.range == rest.range)
        // The oldest day counts completely until a restart.
        #expect((rest.total.total...(rest.total.total + 1)).contains(found.total.total))
    }

    @Test("A small table has the same totals in the journal's order and in any other")
    func collapse() async throws {
        let fixture = Fixture(segmentBytes: 6000)
        let journal = try fixture.open()
        let statistics = StatisticsFixture(fixture, limits: .init(rows: 60))
        for number in 0..<300 {
            try await journal.record([Fixture.intent(number), Fixture.outcome(number, to: "user\(number % 97)")])
            fixture.hands.pass(seconds: 600)
            if number % 10 == 0 { try statistics.update() }
        }
        await journal.close()
        try statistics.updateAll()
        let again = StatisticsFixture(fixture, limits: .init(rows: 60))
        try again.updateAll()
        for found in [try await statistics.pairs(), try await again.pairs()] {
            #expect(found.total.total + found.others.total == 300)
            #expect(found.others.total > 0 && found.rows.count <= 60)
        }
    }
}
