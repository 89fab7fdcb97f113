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
        #expect(try await journals.first.copy.add(all) == nil)
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
        #expect(try await journals.first.copy.add(line) == nil)
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

    @Test("The recorded ends of an unchanged journal agree, and all of its lines verify")
    func unchanged() async throws {
        let journals = try CopiedJournals()
        for part in 0..<3 {
            try await journals.record(part * 10..<part * 10 + 10, at: journals.first)
            try await journals.copy(journals.first)
            try await journals.recordHeads()
        }
        let result = try journals.verifyAtSecond(allLines: true)
        #expect(result.finding == nil)
        #expect(result.agreed == 3)
        #expect(result.verifiedLines == UInt64(try journals.first.fixture.lines().count))
    }

    @Test("A shortened journal is found at another gateway", arguments: [1, 30, 200])
    func shortened(bytes: Int) async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<20, at: journals.first)
        try await journals.copy(journals.first)
        try await journals.recordHeads()
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
        try await journals.record(0..<20, at: journals.first)
        try await journals.copy(journals.first)
        try await journals.recordHeads()
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

    @Test("A journal that was changed together with its copy in the store contradicts the recorded ends")
    func rewritten() async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<20, at: journals.first)
        try await journals.copy(journals.first)
        try await journals.recordHeads()
        let directory = journals.first.fixture.directory
        for name in try directory.names() { try FileManager.default.removeItem(atPath: directory(name)) }
        try journals.execute("DELETE FROM journal_line; DELETE FROM journal_copy")
        #expect(throws: Never.self) {
            let result = try NodeJournalVerification(journals.second.store).run(
                journals.second.fixture.verified(keys: [JournalFixture.key(2).publicKey]).nodeHeads,
                verifiesLines: false)
            #expect(result.map(\.finding) == ["the store has no journal of this node any more"])
        }
        try await journals.record(0..<20, to: "carol", at: journals.first)
        try await journals.copy(journals.first)
        let finding = try #require(try journals.verifyAtSecond().finding)
        #expect(finding.contains("was changed: line"), "\(finding)")
    }

    @Test("Lines that somebody removed from the store, or changed in it, are found")
    func changedStore() async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<20, at: journals.first)
        try await journals.copy(journals.first)
        try await journals.recordHeads()
        try journals.execute("UPDATE journal_line SET line = replace(line, 'bob', 'eve') WHERE number = 5")
        #expect(try journals.verifyAtSecond().finding == nil)
        let changed = try journals.verifyAtSecond(allLines: true).finding
        #expect(changed == "its line 5: the line was changed")
        try journals.execute("DELETE FROM journal_line WHERE number IN (5, 6)")
        let missing = try journals.verifyAtSecond(allLines: true).finding
        #expect(missing == "its line 5: lines are missing: the next segment starts with line 7")
        try journals.execute("DELETE FROM journal_line WHERE number > 10; UPDATE journal_copy SET next = 11")
        let finding = try #require(try journals.verifyAtSecond().finding)
        #expect(finding.hasPrefix("the store has lost its lines from 11"), "\(finding)")
    }

    @Test("Lines that retention removed are no finding, and those of gateways that are gone are removed by their age")
    func retention() async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<30, at: journals.first)
        try await journals.copy(journals.first)
        try await journals.recordHeads()
        try await journals.record(30..<60, at: journals.first)
        try await journals.copy(journals.first)
        let directory = journals.first.fixture.directory
        for name in try JournalReading.segments(in: directory).dropLast(2) {
            try FileManager.default.removeItem(atPath: directory(name))
        }
        let now = journals.first.fixture.hands.time
        try await journals.first.copy.removeOld(journal: directory.path, keep: .seconds(3600), now: now)
        let result = try journals.verifyAtSecond()
        #expect(result.finding == nil)
        #expect((result.agreed, result.removed) == (0, 1))
        let left = try journals.texts("SELECT count(*) FROM journal_line")
        try journals.execute("UPDATE node SET until = 0 WHERE instance = '\(journals.first.store.node.instance)'")
        let other = journals.second.fixture.directory.path
        try await journals.second.copy.removeOld(journal: other, keep: .seconds(3600), now: now)
        #expect(try journals.texts("SELECT count(*) FROM journal_line") == left)
        let later = WallTime(microseconds: now.microseconds + 7_200_000_000)
        try await journals.second.copy.removeOld(journal: other, keep: .seconds(3600), now: later)
        #expect(try journals.texts("SELECT count(*) FROM journal_line") == ["0"])
    }

    @Test("A gateway's own journal that lacks lines of the copy is found")
    func ownJournal() async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<20, at: journals.first)
        try await journals.copy(journals.first)
        let end = try NodeJournalVerification(journals.first.store).copiedEnd()
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
