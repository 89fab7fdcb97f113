import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

extension RecordedHistoryTests {
    @Test("Segments are listed newest first, in pages, and a call with all of its lines")
    func segments() async throws {
        let fixture = JournalFixture(segmentBytes: 3000, isSigned: true)
        let ledger = try StoredLedger(file: TemporaryDirectory()("ledger.sqlite"))
        let sessions = try SessionRegister(ledger, clocks: fixture.configuration.clocks)
        let journal = try fixture.open()
        for number in 0..<20 {
            try await journal.record([JournalFixture.intent(number), JournalFixture.outcome(number)])
            fixture.hands.pass(seconds: 60)
        }
        try AuditIndex(directory: fixture.directory.path).update()
        let files = SegmentFiles(directory: fixture.directory.path)
        let history = RecordedHistory(files, sessions: sessions, logger: fixture.configuration.logger)
        let lines = try await history.lines(ofCall: JournalFixture.call(3))
        #expect(lines.compactMap { JournalLineReader(bytes: $0.bytes[...]).kind } == [.intent, .outcome])
        #expect(try await history.lines(ofCall: JournalFixture.call(99)).isEmpty)

        let all = try await history.segments(before: nil, limit: 100)
        let names = try JournalReading.segments(in: fixture.directory)
        #expect(all.count > 3 && all.map(\.name) == names.reversed())
        #expect(all.first?.isClosed == false && all.dropFirst().allSatisfy(\.isClosed))
        #expect(all.dropFirst().allSatisfy { $0.isIndexed && $0.endsWithCheckpoint == true })
        // The numbers continue from segment to segment.
        let next: [UInt64] = all.dropFirst().compactMap(\.last).map { $0 + 1 }
        #expect(next == all.dropLast().map(\.first))
        #expect(all[0].last == UInt64(try fixture.lines().count))
        for segment in all {
            let bounds = try #require(segment.earliest.map { ($0, segment.latest ?? $0) })
            #expect(bounds.0 <= bounds.1)
        }
        var pages: [SegmentSummary] = []
        while case let page = try await history.segments(before: pages.last?.first, limit: 2), !page.isEmpty {
            pages += page
        }
        #expect(pages == all)
        await journal.close()
        history.close()
        try ledger.close()
    }
}
