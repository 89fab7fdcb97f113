import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

@Suite(
    "PostgreSQL: the journals of several gateways",
    .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct JournalCopyTests {
    @Test("Each line is copied once, in its own bytes, also if it is given twice")
    func copiesLines() async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<15, at: journals.first)
        #expect(try await journals.copy(journals.first) == [])
        let lines = try journals.first.fixture.lines().map(\.text)
        #expect(try journals.texts("SELECT line FROM journal_line ORDER BY number") == lines)
        #expect(
            try journals.texts(#"SELECT count(*) FROM journal_line WHERE "user" = 'alice' AND recipient = 'bob'"#) == [
                "30"
            ])
        let position = try await journals.first.copy.position()
        #expect(position == UInt64(lines.count) + 1)
        let all = Array(lines.joined(separator: "\n").utf8) + [0x0A]
        #expect(try await journals.first.copy.add(all, readFrom: 0) == nil)
        try await journals.record(15..<20, at: journals.first)
        #expect(try await journals.copy(journals.first) == [])
        #expect(
            try journals.texts("SELECT line FROM journal_line ORDER BY number")
                == (try journals.first.fixture.lines().map(\.text)))
        #expect(try journals.texts("SELECT chain FROM journal_copy") == ["0"])
    }

    @Test("A line that is not UTF-8 or has a NUL character is stored with replacement characters")
    func damagedLine() async throws {
        let journals = try CopiedJournals()
        let line =
            Array(#"{"seq":1,"at":"2026-11-26T00:00:00.000000Z","kind":"x"#.utf8) + [0xFF, 0x00] + Array("\"}\n".utf8)
        #expect(try await journals.first.copy.add(line, readFrom: 0) == nil)
        #expect(try journals.texts("SELECT kind FROM journal_line") == ["x\u{FFFD}\u{FFFD}"])
    }

    @Test("Another process that has the place of this gateway keeps it from adding lines")
    func lostPlace() async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<3, at: journals.first)
        try journals.execute("UPDATE node SET fence = fence + 100")
        await #expect(throws: LedgerUnavailable.self) { try await journals.copy(journals.first) }
        #expect(try journals.texts("SELECT line FROM journal_line") == [])
    }

    @Test("The recorded heads of an unchanged journal match, and all of its lines verify")
    func unchanged() async throws {
        let journals = try CopiedJournals()
        for part in 0..<3 {
            try await journals.publish(part * 10..<part * 10 + 10)
        }
        let result = try journals.verifyAtSecond(allLines: true)
        #expect(result.finding == nil)
        #expect(result.matches == 3)
        #expect(result.verifiedLines == UInt64(try journals.first.fixture.lines().count))
    }

    @Test("A shortened journal is found at another gateway", arguments: [1, 30, 200])
    func shortened(bytes: Int) async throws {
        let journals = try CopiedJournals()
        try await journals.publish(0..<20)
        let directory = journals.first.fixture.directory
        let name = try #require(try JournalReading.segments(in: directory).last)
        let content = JournalContent.endOfLines(in: try directory.bytes(name))
        try #require(truncate(directory(name), off_t(content - bytes)) == 0)
        try await journals.record(20..<25, at: journals.first)
        try await journals.copy(journals.first)
        let finding = try #require(try journals.verifyAtSecond().finding)
        #expect(finding.hasPrefix("its journal was replaced, shortened or restored from an older copy"), "\(finding)")
        #expect(try journals.texts("SELECT chain FROM journal_copy") == ["1"])
    }

    @Test("A deleted journal is found at another gateway, and its lines stay in the store")
    func deleted() async throws {
        let journals = try CopiedJournals()
        try await journals.publish(0..<20)
        let directory = journals.first.fixture.directory
        let count = try journals.first.fixture.lines().count
        for name in try directory.names() { try FileManager.default.removeItem(atPath: directory(name)) }
        try await journals.record(0..<2, to: "carol", at: journals.first)
        try await journals.copy(journals.first)
        #expect(try journals.verifyAtSecond().finding != nil)
        #expect(try journals.texts("SELECT count(*) FROM journal_line WHERE chain = 0") == ["\(count)"])
        #expect(
            try journals.texts("SELECT count(*) FROM journal_line WHERE chain = 1")
                == ["\(try journals.first.fixture.lines().count)"])
    }

    @Test("An older copy of a journal is found at another gateway, also once it has grown beyond the newer one")
    func restored() async throws {
        let journals = try CopiedJournals()
        let directory = journals.first.fixture.directory
        try await journals.record(0..<10, at: journals.first)
        try await journals.copy(journals.first)
        let older = TemporaryDirectory()
        try FileManager.default.copyItem(atPath: directory.path, toPath: older.path)
        let common = try journals.first.fixture.lines().count
        try await journals.record(10..<20, at: journals.first)
        try await journals.copy(journals.first)
        try await journals.recordHeads()
        try FileManager.default.removeItem(atPath: directory.path)
        try FileManager.default.copyItem(atPath: older.path, toPath: directory.path)
        try await journals.record(20..<60, to: "carol", at: journals.first)
        let reasons = try await journals.copy(journals.first)
        #expect(reasons.count == 1)
        #expect(try journals.verifyAtSecond().finding != nil)
        #expect(
            try journals.texts("SELECT min(number) FROM journal_line WHERE chain = 1") == ["\(common + 1)"])
        #expect(
            try journals.texts("SELECT count(*) FROM journal_line WHERE recipient = 'carol'") == ["80"])
    }

    @Test("A journal that was changed together with its copy in the store contradicts the recorded heads")
    func rewritten() async throws {
        let journals = try CopiedJournals()
        try await journals.publish(0..<20)
        let directory = journals.first.fixture.directory
        for name in try directory.names() { try FileManager.default.removeItem(atPath: directory(name)) }
        try journals.execute("DELETE FROM journal_line; DELETE FROM journal_copy")
        #expect(try journals.verifyAtSecond().finding == "the store has no journal of it any more")
        try await journals.record(0..<20, to: "carol", at: journals.first)
        try await journals.copy(journals.first)
        let finding = try #require(try journals.verifyAtSecond().finding)
        #expect(finding.contains("was changed: line"), "\(finding)")
    }

    @Test("Lines that somebody removed from the store, or changed in it, are found")
    func changedStore() async throws {
        let journals = try CopiedJournals()
        try await journals.publish(0..<20)
        try journals.execute("UPDATE journal_line SET line = replace(line, 'bob', 'eve') WHERE number = 5")
        #expect(try journals.verifyAtSecond().finding == nil)
        let changed = try journals.verifyAtSecond(allLines: true).finding
        #expect(changed == "line 5: the line was changed")
        try journals.execute("DELETE FROM journal_line WHERE number IN (5, 6)")
        let missing = try journals.verifyAtSecond(allLines: true).finding
        #expect(missing == "line 5: lines are missing: the next segment starts with line 7")
        try journals.execute("DELETE FROM journal_line WHERE number > 10; UPDATE journal_copy SET next = 11")
        let finding = try #require(try journals.verifyAtSecond().finding)
        #expect(finding.hasPrefix("the store lacks its lines 11 to"), "\(finding)")
    }

    @Test("Lines that retention removed leave the store, are no finding, and the rest verifies")
    func retention() async throws {
        let journals = try CopiedJournals(keepBytes: 20_000)
        for part in 0..<4 {
            try await journals.publish(part * 20..<part * 20 + 20)
        }
        let lowest = try journals.first.fixture.verified().first
        #expect(lowest > 1)
        try await journals.first.copy.removeExpired(keep: CopiedJournals.keep, now: journals.time(after: .zero))
        #expect(try journals.texts("SELECT min(number) FROM journal_line") == ["\(lowest)"])
        let result = try journals.verifyAtSecond(allLines: true)
        #expect(result.finding == nil)
        #expect(result.removed > 0 && result.matches > 0 && result.first == lowest)
    }

    @Test("Segments that somebody deletes stay in the store")
    func vanishedFiles() async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<40, at: journals.first)
        try await journals.copy(journals.first)
        let directory = journals.first.fixture.directory
        let count = try journals.texts("SELECT count(*) FROM journal_line")
        for name in try JournalReading.segments(in: directory).dropLast(2) {
            try FileManager.default.removeItem(atPath: directory(name))
        }
        try await journals.first.copy.removeExpired(keep: CopiedJournals.keep, now: journals.time(after: .zero))
        #expect(try journals.texts("SELECT count(*) FROM journal_line") == count)
    }

    @Test("The lines of a gateway that is gone stay for as long as journals keep lines, and two days more")
    func gone() async throws {
        let journals = try CopiedJournals()
        try await journals.publish(0..<20)
        try journals.stopFirst(ago: 3600)
        let count = try journals.texts("SELECT count(*) FROM journal_line")
        let soon = CopiedJournals.keep + .seconds(86_400)
        try await journals.second.copy.removeExpired(keep: CopiedJournals.keep, now: journals.time(after: soon))
        #expect(try journals.texts("SELECT count(*) FROM journal_line") == count)
        #expect(try journals.verifyAtSecond(allLines: true).finding == nil)
        let late = CopiedJournals.keep + .seconds(3 * 86_400)
        try await journals.second.copy.removeExpired(keep: CopiedJournals.keep, now: journals.time(after: late))
        #expect(try journals.texts("SELECT count(*) FROM journal_line") == ["0"])
        #expect(try journals.texts("SELECT count(*) FROM journal_copy") == ["0"])
        #expect(try journals.verifyAtSecond(after: late).finding == nil)
        #expect(try journals.verifyAtSecond().finding == "the store has no journal of it any more")
    }

    @Test("A journal that began anew stays a finding after the lines before were removed from the store")
    func hiddenChain() async throws {
        let journals = try CopiedJournals()
        try await journals.publish(0..<20)
        let directory = journals.first.fixture.directory
        for name in try directory.names() { try FileManager.default.removeItem(atPath: directory(name)) }
        try await journals.publish(0..<5)
        try journals.execute("DELETE FROM journal_line WHERE chain = 0")
        #expect(try journals.verifyAtSecond().finding?.contains("recorded another chain") == true)
    }

    @Test("Lines that somebody removed as if by retention are a finding, also of a gateway that is gone")
    func forgedRemoval() async throws {
        let journals = try CopiedJournals()
        try await journals.publish(0..<20)
        try journals.stopFirst(ago: 3600)
        try journals.execute("UPDATE journal_copy SET first = 11; DELETE FROM journal_line WHERE number < 11")
        #expect(
            try journals.verifyAtSecond().finding == "no signed line records the removal of its lines before 11")
        try journals.execute("UPDATE journal_copy SET first = next; DELETE FROM journal_line")
        #expect(try journals.verifyAtSecond().finding?.hasPrefix("the store lacks its last line") == true)
    }

    @Test("Another signing key is a finding until it is given")
    func changedKey() async throws {
        let journals = try CopiedJournals()
        try await journals.publish(0..<5)
        let key = JournalFixture.key(3).publicKey
        try journals.execute("UPDATE journal_copy SET key = '\(key.text)'")
        #expect(try journals.verifyAtSecond().finding?.hasPrefix("its signing key is not the one") == true)
        try await journals.recordHeads()
        #expect(try journals.verifyAtSecond().finding?.hasPrefix("its signing key had changed") == true)
        #expect(try journals.verifyAtSecond(keys: [key]).finding == nil)
    }

    @Test("Lines that a failover lost are copied again, and that is no finding")
    func failover() async throws {
        let journals = try CopiedJournals()
        try await journals.publish(0..<10)
        try journals.execute(
            """
            UPDATE journal_copy SET next = 11, hash = decode(
                (SELECT substring(line FROM '"hash":"([0-9a-f]{64})"') FROM journal_line WHERE number = 10), 'hex');
            DELETE FROM journal_line WHERE number > 10
            """)
        let line = Array(try journals.first.fixture.lines()[15].text.utf8) + [0x0A]
        #expect(
            try await journals.first.copy.add(line, readFrom: 16)?.hasPrefix("the store has no lines from 11") == true)
        try await journals.recordHeads()
        #expect(try await journals.copy(journals.first) == [])
        #expect(try journals.verifyAtSecond(allLines: true).finding == nil)
    }

    @Test("A gateway's own journal that lacks lines of the copy is found")
    func ownJournal() async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<20, at: journals.first)
        try await journals.copy(journals.first)
        let options = NodeJournalVerification.Options(keep: CopiedJournals.keep, now: journals.time(after: .zero))
        let end = try NodeJournalVerification(journals.first.store, options).copyHead()
        var verification = JournalVerification(
            directory: journals.first.fixture.directory.path, keys: [JournalFixture.key.publicKey])
        verification.copied = end
        #expect(try verification.run().finding == nil)
        for name in try journals.first.fixture.directory.names() {
            try FileManager.default.removeItem(atPath: journals.first.fixture.directory(name))
        }
        let last = try #require(end).number
        #expect(
            try verification.run().finding?.what
                == "lines are missing at the end: the store has a copy of line \(last)")
    }
}
