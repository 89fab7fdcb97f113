import Foundation
import GatewayCore
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

@Suite("Journal: what is removed", .timeLimit(.minutes(5)))
struct JournalRetentionTests {
    /// A journal of some segments, each full.
    private static func filled(_ fixture: JournalFixture, calls: Range<Int> = 0..<40) async throws {
        let journal = try fixture.open()
        for number in calls { try await journal.record([Fixture.intent(number), Fixture.outcome(number)]) }
        await journal.close()
    }

    @Test("beyond the size the oldest segments go, each with a signed line that verification begins at")
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

    @Test("a segment goes when its last record is older than is kept, and not before")
    func byAge() async throws {
        var fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        fixture.configuration.keep = .seconds(90 * 86_400)
        try await Self.filled(fixture)
        let before = try JournalReading.segments(in: fixture.directory)
        fixture.hands.pass(seconds: 90 * 86_400)
        try await Self.filled(fixture, calls: 50..<51)
        #expect(try JournalReading.segments(in: fixture.directory).prefix(before.count).elementsEqual(before))
        fixture.hands.pass(seconds: 1)
        try await Self.filled(fixture, calls: 60..<61)
        let after = try JournalReading.segments(in: fixture.directory)
        #expect(Set(after).isDisjoint(with: before))
        let report = try fixture.verified()
        #expect(report.finding == nil)
        let retired = try after.flatMap { try fixture.directory.bytes($0).split(separator: 0x0A) }
            .map { try JournalReading.line(Array($0)) }.filter { $0.kind == "retired" }
        #expect(retired.count == before.count)
        #expect(retired.last?.members["through"] as? Int == Int(report.first) - 1)
    }

    @Test("segments that go without a word are a finding; so is a removal that another key signed")
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

    @Test("without a key nothing is removed")
    func unsigned() async throws {
        var fixture = JournalFixture(segmentBytes: 2000)
        fixture.configuration.keepBytes = 0
        try await Self.filled(fixture)
        #expect(try fixture.verified(keys: []).first == 1)
    }

    @Test("a failed write behind the last line that counts does not hide it, and a damaged end is kept")
    func oddEnds() async throws {
        var fixture = JournalFixture(segmentBytes: 100_000, isSigned: true)
        fixture.configuration.keepBytes = 0
        let journal = try fixture.open()
        for number in 0..<3 { try await journal.record([Fixture.intent(number)]) }
        // The line is in the file when synchronising fails: void, since the next segment has its number.
        fixture.files.fail([1], leaving: .all)
        await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(3)]) }
        await journal.untilWell()
        try await journal.record([Fixture.intent(4)])
        await journal.close()
        // The second segment is the one that was in use when segments were looked at.
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
