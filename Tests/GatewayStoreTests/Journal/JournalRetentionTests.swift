import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

@Suite("Journal: retention", .timeLimit(.minutes(5)))
struct JournalRetentionTests {
    /// A journal of some full segments.
    private static func filled(_ fixture: JournalFixture, calls: Range<Int> = 0..<40) async throws {
        let journal = try fixture.open()
        for number in calls { try await journal.record([Fixture.intent(number), Fixture.outcome(number)]) }
        await journal.close()
    }

    @Test("Beyond the maximum size the oldest segments are removed, and verification starts at their signed lines")
    func bySize() async throws {
        var fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        fixture.configuration.keepBytes = 10_000
        try await Self.filled(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        let total = try names.reduce(0) { $0 + (try fixture.directory.bytes($1).count) }
        #expect(total < 14_000)
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(report.first > 1)
        #expect(names.first == JournalSegmentName(first: report.first).text)
    }

    /// Advances the clock by an hour, and returns after the retention check.
    private static func passHour(_ fixture: JournalFixture, _ journal: JournalFile) async throws {
        fixture.hands.pass(seconds: 3600)
        // The check follows a batch, so the second call ends after the check.
        for number in 1000..<1002 { try await journal.record([Fixture.rejection(number)]) }
        // The second may have begun a segment, and then there is another look behind it. A look that would read one clock before the
        // next hour passes and the other behind it would take the clock for set. Behind a batch without lines there is no such look.
        #expect(await journal.check() == nil)
    }

    @Test("Segments beyond the maximum age are removed, a tenth or one an hour, and not earlier")
    func byAge() async throws {
        var fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        fixture.configuration.keep = .seconds(90 * 86_400)
        try await Self.filled(fixture, calls: 0..<80)
        let before = try JournalReading.segments(in: fixture.directory)
        #expect(before.count > 20)
        let time = fixture.hands.time
        fixture.files.state.withLock { $0.modified = time }
        let journal = try fixture.open()
        fixture.hands.pass(seconds: 90 * 86_400 - 3600)
        try await Self.passHour(fixture, journal)
        #expect(try JournalReading.segments(in: fixture.directory).prefix(before.count).elementsEqual(before))
        var left = before.count
        var hours = 0
        // Each hour something goes, so there are at most as many hours as segments.
        while left > 0, hours < before.count {
            let all = try JournalReading.segments(in: fixture.directory)
            try await Self.passHour(fixture, journal)
            hours += 1
            let now = Set(try JournalReading.segments(in: fixture.directory)).intersection(before).count
            // Two segments at most begin in an hour.
            let due = min(left, max(1, all.count / 10))...max(1, (all.count + 2) / 10)
            #expect(due.contains(left - now), "hour \(hours)")
            left = now
        }
        #expect(left == 0)
        #expect(hours < before.count)
        await journal.close()
        let after = try JournalReading.segments(in: fixture.directory)
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(report.retiredThrough == report.first - 1)
        let retired = try after.flatMap { try fixture.directory.bytes($0).split(separator: 0x0A) }
            .map { try JournalReading.line(Array($0)) }.filter { $0.kind == "retired" }
        #expect(retired.count >= before.count)
        #expect(retired.last?.members["through"] as? Int == Int(report.first) - 1)
    }

    @Test("A wrong clock at the start removes nothing and is logged; after its correction nothing is missing")
    func wrongClock() async throws {
        var fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        fixture.configuration.keep = .seconds(90 * 86_400)
        try await Self.filled(fixture, calls: 0..<80)
        let before = try JournalReading.segments(in: fixture.directory)
        let time = fixture.hands.time
        fixture.files.state.withLock { $0.modified = time }
        fixture.hands.setClock(ahead: 120 * 86_400)
        let journal = try fixture.open()
        for _ in 0..<23 { try await Self.passHour(fixture, journal) }
        #expect(fixture.log.lines(.warning).count { $0.contains("the clock may be wrong") } == 1)
        fixture.hands.setClock(ahead: 0)
        for _ in 0..<30 { try await Self.passHour(fixture, journal) }
        await journal.close()
        #expect(try JournalReading.segments(in: fixture.directory).prefix(before.count).elementsEqual(before))
        #expect(try fixture.verified().isGood)
    }

    @Test("A clock that jumps at run time removes nothing")
    func jumpingClock() async throws {
        var fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        fixture.configuration.keep = .seconds(90 * 86_400)
        try await Self.filled(fixture)
        let before = try JournalReading.segments(in: fixture.directory)
        let time = fixture.hands.time
        fixture.files.state.withLock { $0.modified = time }
        let journal = try fixture.open()
        for _ in 0..<3 { try await Self.passHour(fixture, journal) }
        fixture.hands.setClock(ahead: 120 * 86_400)
        for _ in 0..<20 { try await Self.passHour(fixture, journal) }
        await journal.close()
        #expect(try JournalReading.segments(in: fixture.directory).prefix(before.count).elementsEqual(before))
    }

    @Test("Bounds of zero remove a tenth of the segments or one at a start, not the whole history")
    func atAStart() async throws {
        var fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(fixture, calls: 0..<80)
        let before = try JournalReading.segments(in: fixture.directory)
        fixture.configuration.keepBytes = 0
        await (try fixture.open()).close()
        let after = try JournalReading.segments(in: fixture.directory)
        #expect(Set(before).subtracting(after).count == (before.count + 1) / 10)
        let report = try fixture.verified()
        #expect(report.isGood)
        #expect(report.retiredThrough == report.first - 1)
    }

    @Test("A segment before a gap is removed with a record of the gap, which verification still reports")
    func beforeAGap() async throws {
        var fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        let firsts = names.compactMap { JournalSegmentName($0)?.first }
        try FileManager.default.removeItem(atPath: fixture.directory(names[1]))
        fixture.configuration.keepBytes = 0
        await (try fixture.open()).close()
        #expect(try JournalReading.segments(in: fixture.directory).first == names[2])
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(report.retiredThrough == firsts[1] - 1)
        #expect(report.losses.map(\.lines) == [firsts[1]...(firsts[2] - 1)])
    }

    @Test("Segments missing without a signed line are a finding, and so is a removal signed by another key")
    func withoutAWord() async throws {
        let fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        try FileManager.default.removeItem(atPath: fixture.directory(names[0]))
        let next = Int(names[1].dropFirst(8).dropLast(6)) ?? 0
        let finding = try #require(try fixture.verified().finding)
        #expect(finding.number == 1)
        #expect(finding.through == UInt64(next - 1))
        try FileManager.default.removeItem(atPath: fixture.directory(names[2]))
        let middle = Int(names[2].dropFirst(8).dropLast(6)) ?? 0
        #expect(try fixture.verified().finding?.number == UInt64(middle))

        var foreign = JournalFixture(segmentBytes: 2000, isSigned: true)
        foreign.configuration.keepBytes = 10_000
        foreign.configuration.signingKey = Fixture.key(9)
        try await Self.filled(foreign)
        #expect(try foreign.verified().finding != nil)
        #expect(try foreign.verified(keys: [Fixture.key(9).publicKey]).finding == nil)
        #expect(try foreign.verified(keys: [Fixture.key.publicKey, Fixture.key(9).publicKey]).finding == nil)
    }

    @Test("Without a key nothing is removed")
    func unsigned() async throws {
        var fixture = JournalFixture(segmentBytes: 2000)
        fixture.configuration.keepBytes = 0
        try await Self.filled(fixture)
        #expect(try fixture.verified(keys: []).first == 1)
    }

    @Test("A failed write after the last valid line does not hide it, and a damaged end is kept")
    func oddEnds() async throws {
        var fixture = JournalFixture(segmentBytes: 100_000, isSigned: true)
        fixture.configuration.keepBytes = 0
        let journal = try fixture.open()
        for number in 0..<3 { try await journal.record([Fixture.intent(number)]) }
        // The line is in the file when synchronizing fails. It is void, because the next segment reuses its number.
        fixture.files.fail([1], leaving: .all)
        await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(3)]) }
        await fixture.untilWell(journal)
        try await journal.record([Fixture.intent(4)])
        await journal.close()
        // The second segment was the one in use at the retention check.
        await (try fixture.open()).close()
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(report.first > 1)

        let damaged = JournalFixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(damaged)
        let first = try #require(try JournalReading.segments(in: damaged.directory).first)
        var bytes = try damaged.directory.bytes(first)
        bytes[bytes.count - 100] ^= 1
        try damaged.directory.write(bytes, to: first)
        var strict = JournalFixture(damaged.directory, segmentBytes: 2000, isSigned: true)
        strict.configuration.keepBytes = 0
        try await Self.filled(strict, calls: 50..<60)
        #expect(try JournalReading.segments(in: damaged.directory).first == first)
    }
}
