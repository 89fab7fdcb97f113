import Foundation
import GRDB
import GatewayCore
import Logging
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Journal: the checkpoint in the ledger", .timeLimit(.minutes(5)))
struct JournalLedgerTests {
    private let place = TemporaryDirectory()

    private func ledger() throws -> StoredLedger { try StoredLedger(file: place("ledger.sqlite")) }

    /// Runs a journal for some calls, and closes it with its ledger.
    private func run(_ fixture: JournalFixture, calls: Range<Int>) async throws -> String? {
        var fixture = fixture
        let ledger = try ledger()
        fixture.configuration.ledger = ledger
        let journal = try fixture.open()
        for number in calls { try await journal.record([Fixture.intent(number)]) }
        let loss = journal.loss
        await journal.close()
        try ledger.close()
        return loss
    }

    private func verified(_ fixture: JournalFixture) throws -> JournalVerification.Report {
        var verification = JournalVerification(directory: fixture.directory.path, keys: [Fixture.key.publicKey])
        verification.known = try StoredCheckpoint(ledger: place("ledger.sqlite"))
        return try verification.run()
    }

    @Test("After a close the ledger contains the last checkpoint's number, hash and time")
    func kept() async throws {
        let fixture = JournalFixture(isSigned: true)
        #expect(try StoredCheckpoint(ledger: place("ledger.sqlite")) == nil)
        #expect(try await run(fixture, calls: 0..<3) == nil)
        let last = try #require(try fixture.lines().last)
        let known = try #require(try StoredCheckpoint(ledger: place("ledger.sqlite")))
        #expect(last.kind == "checkpoint")
        #expect(known.number == UInt64(last.seq))
        #expect(String(decoding: known.hash.hexDigits, as: UTF8.self) == last.members["hash"] as? String)
        #expect(known.time.description == last.members["at"] as? String)
        #expect(try verified(fixture).isGood)
    }

    @Test(
        "A deleted journal is a finding; the next start continues after it and records the missing lines",
        arguments: [false, true])
    func wiped(withDirectory: Bool) async throws {
        let fixture = JournalFixture(isSigned: true)
        _ = try await run(fixture, calls: 0..<5)
        let last = UInt64(try #require(try fixture.lines().last).seq)
        if withDirectory {
            try FileManager.default.removeItem(atPath: fixture.directory.path)
        } else {
            for name in try JournalReading.segments(in: fixture.directory) {
                try FileManager.default.removeItem(atPath: fixture.directory(name))
            }
        }
        let finding = try #require(try verified(fixture).finding)
        #expect(finding.through == last)
        #expect(finding.what == "lines are missing at the end: the ledger has a checkpoint of line \(last)")
        let loss = try await run(fixture, calls: 5..<7)
        #expect(loss?.hasPrefix("lines 1 to \(last) are missing") == true)
        #expect(
            fixture.log.lines(.error).contains { $0.contains("Journal does not match the checkpoint in the ledger") })
        let report = try verified(fixture)
        #expect(report.finding == nil)
        #expect(report.first == last + 1)
        #expect(report.losses.map(\.lines) == [1...last])
        // A further start reports no new loss, and the first one stays recorded.
        #expect(try await run(fixture, calls: 7..<8) == nil)
        #expect(try verified(fixture).losses == report.losses)
    }

    @Test("An older copy of the journal is a finding, and the next start records the missing lines")
    func olderCopy() async throws {
        let fixture = JournalFixture(isSigned: true)
        _ = try await run(fixture, calls: 0..<5)
        let older = try fixture.afterCrash()
        let first = UInt64(try #require(try fixture.lines().last).seq)
        _ = try await run(fixture, calls: 5..<10)
        let last = UInt64(try #require(try fixture.lines().last).seq)
        #expect(try verified(older).finding?.number == first + 1)
        let loss = try await run(older, calls: 10..<12)
        #expect(loss?.hasPrefix("lines \(first + 1) to \(last) are missing") == true)
        let report = try verified(older)
        #expect(report.finding == nil)
        #expect(report.losses.map(\.lines) == [(first + 1)...last])
    }

    @Test("Another journal is a finding, and the next start records the mismatch")
    func exchanged() async throws {
        let fixture = JournalFixture(isSigned: true)
        _ = try await run(fixture, calls: 0..<5)
        let other = JournalFixture(isSigned: true)
        await (try other.open()).close()
        let journal = try other.open()
        for number in 50..<80 { try await journal.record([Fixture.intent(number)]) }
        await journal.close()
        let known = try #require(try StoredCheckpoint(ledger: place("ledger.sqlite")))
        #expect(try verified(other).finding?.what.contains("the ledger has another checkpoint") == true)
        #expect(try await run(other, calls: 80..<81) != nil)
        let report = try verified(other)
        #expect(report.finding == nil)
        #expect(report.losses.map(\.kind) == [.another])
        #expect(report.losses.map(\.lines) == [known.number...known.number])
    }

    @Test("A ledger of the previous version is migrated and has no checkpoint yet")
    func migration() async throws {
        do {
            let ledger = try ledger()
            try await ledger.sqlite.write { try LedgerFixture.undoSchema5($0) }
            try ledger.close()
        }
        #expect(try StoredCheckpoint(ledger: place("ledger.sqlite")) == nil)
        let fixture = JournalFixture(isSigned: true)
        #expect(try await run(fixture, calls: 0..<2) == nil)
        #expect(try StoredCheckpoint(ledger: place("ledger.sqlite")) != nil)
    }

    @Test("A check succeeds on a writable ledger, and gives the reason on another")
    func writable() async throws {
        let ledger = try ledger()
        #expect(await ledger.check() == nil)
        try ledger.close()
        #expect(await ledger.check() != nil)
    }
}
