import Dispatch
import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Statistics: steps of the wall clock", .timeLimit(.minutes(5)))
struct StatisticsClockTests {
    private static let everything = WallTime(microseconds: 0)..<WallTime(microseconds: .max)
    private static let day: Int64 = 86_400

    private static func write(_ numbers: Range<Int>, to journal: JournalFile, of fixture: Fixture) async throws {
        for number in numbers {
            try await journal.record([Fixture.intent(number), Fixture.outcome(number, to: "user\(number % 7)")])
            fixture.hands.pass(seconds: 60)
        }
    }

    private static func expectAll(_ statistics: StatisticsFixture) async throws {
        let found = try await statistics.pairs()
        let expected = CountedByHand(lines: try statistics.journal.lines())
        #expect(found.coverage.isComplete)
        #expect(StatisticsFixture.text(found) == expected.pairs(everything))
        let minutes = try await statistics.statistics.minutes(since: nil, until: nil)
        #expect(minutes.coverage.isComplete)
        #expect(
            minutes.minutes.reduce(0) { $0 + $1.sends.total } == found.total.total && found.others.total == 0)
    }

    @Test("A clock that was wrong at the start: all is counted again once it is right", arguments: [-500, -1, 2, 900])
    func wrongAtStart(days: Int64) async throws {
        let fixture = Fixture(segmentBytes: 3000)
        let journal = try fixture.open()
        try await Self.write(0..<30, to: journal, of: fixture)
        fixture.hands.setClock(ahead: days * Self.day)
        let statistics = StatisticsFixture(fixture)
        try statistics.updateAll()
        let wrong = try await statistics.statistics.minutes(since: nil, until: nil)
        #expect(wrong.minutes.allSatisfy { $0.sends.total == 0 })
        fixture.hands.setClock(ahead: 0)
        // Neither result claims to be complete before the lines are counted again.
        #expect(try await !statistics.pairs().coverage.isComplete)
        #expect(try await !statistics.statistics.minutes(since: nil, until: nil).coverage.isComplete)
        statistics.statistics.fills.suspend()
        try statistics.count()
        let partly = try await statistics.pairs()
        #expect(!partly.coverage.isComplete && partly.total.total < 30)
        // Not even for a range that the segment in use covers: an earlier one may have later lines.
        let recent = try await statistics.pairs { $0.since = partly.coverage.countedFrom?.adding(3_600_000_000) }
        #expect(!recent.coverage.isComplete)
        statistics.statistics.fills.resume()
        try statistics.updateAll()
        try await Self.expectAll(statistics)
        await journal.close()
        statistics.statistics.close()
    }

    @Test("A clock that jumps while counting, and back: each time all is counted again")
    func jumps() async throws {
        let fixture = Fixture(segmentBytes: 3000)
        let journal = try fixture.open()
        let statistics = StatisticsFixture(fixture)
        try await Self.write(0..<10, to: journal, of: fixture)
        try statistics.updateAll()
        try await Self.expectAll(statistics)
        fixture.hands.setClock(ahead: 900 * Self.day)
        try statistics.updateAll()
        #expect(try await statistics.pairs().total.total == 0)
        fixture.hands.setClock(ahead: 0)
        #expect(try await !statistics.pairs().coverage.isComplete)
        try await Self.write(10..<20, to: journal, of: fixture)
        try statistics.updateAll()
        try await Self.expectAll(statistics)
        #expect(statistics.statistics.state.withLock { $0?.epoch } == 2)
        // A correction of less than a minute changes nothing.
        fixture.hands.setClock(ahead: 59)
        try await Self.write(20..<25, to: journal, of: fixture)
        try statistics.updateAll()
        try await Self.expectAll(statistics)
        #expect(statistics.statistics.state.withLock { $0?.epoch } == 2)
        await journal.close()
        statistics.statistics.close()
    }

    @Test("A step while room is made discards the table that was made")
    func stepDuringMaintenance() async throws {
        let fixture = Fixture()
        let journal = try fixture.open()
        let statistics = StatisticsFixture(fixture, limits: .init(rows: 10))
        statistics.statistics.fills.suspend()
        try await Self.write(0..<30, to: journal, of: fixture)
        try statistics.count()
        statistics.statistics.maintain {
            fixture.hands.setClock(ahead: -2 * Self.day)
            #expect(throws: Never.self) { try statistics.count() }
            fixture.hands.setClock(ahead: 0)
            #expect(throws: Never.self) { try statistics.count() }
        }
        #expect(statistics.statistics.state.withLock { $0?.epoch == 2 && $0?.isCopied == false })
        statistics.statistics.fills.resume()
        try statistics.updateAll()
        let found = try await statistics.pairs()
        #expect(found.coverage.isComplete && found.total.total + found.others.total == 30)
        await journal.close()
        statistics.statistics.close()
    }

    @Test("After the clock was set back at a rotation, a range is complete only with the earlier segments")
    func setBack() async throws {
        let fixture = Fixture(segmentBytes: 3000)
        let journal = try fixture.open()
        fixture.hands.setClock(ahead: 4 * 3600)
        try await Self.write(0..<10, to: journal, of: fixture)
        let segments = try JournalReading.segments(in: fixture.directory).count
        fixture.hands.setClock(ahead: 0)
        var number = 10
        while try JournalReading.segments(in: fixture.directory).count < segments + 2 {
            try await Self.write(number..<(number + 1), to: journal, of: fixture)
            number += 1
        }
        let statistics = StatisticsFixture(fixture)
        // No closed segment has an index.
        try statistics.update()
        let from = try #require(try await statistics.pairs().coverage.countedFrom)
        let recent = try await statistics.pairs { $0.since = from.adding(3_600_000_000) }
        #expect(!recent.coverage.isComplete && recent.total.total == 0)
        // Later than everything.
        let late = try await statistics.pairs { $0.since = from.adding(20 * 3_600_000_000) }
        #expect(late.coverage.isComplete)
        try statistics.updateAll()
        let all = try await statistics.pairs { $0.since = from.adding(3_600_000_000) }
        #expect(all.coverage.isComplete && all.total.total > 0)
        await journal.close()
        statistics.statistics.close()
    }
}
