import Foundation
import GatewayCore
import Logging
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Audit: the history shown to recipients", .timeLimit(.minutes(5)))
struct RecordedHistoryTests {
    private static func send(_ number: Int, to recipient: String, result: CallResult = .accepted) -> [JournalRecord] {
        var facts = Fixture.facts(number, to: recipient)
        facts.pns = .fcm
        return [
            JournalRecord(.intent, facts: facts),
            JournalRecord(.outcome, facts: facts, result: result.rawValue),
        ]
    }

    @Test("Only forwarded sends, newest first, and none from before the name's current account")
    func lives() async throws {
        let fixture = JournalFixture(segmentBytes: 2000)
        let place = TemporaryDirectory()
        let ledger = try StoredLedger(file: place("ledger.sqlite"))
        let clocks = fixture.configuration.clocks
        let sessions = try SessionRegister(ledger, clocks: clocks)
        let journal = try fixture.open()
        for number in 0..<5 {
            try await journal.record(Self.send(number, to: "bob"))
            fixture.hands.pass(seconds: 60)
        }
        try await journal.record(Self.send(10, to: "bob", result: .backendUnreachable))
        try await journal.record(Self.send(11, to: "bob", result: .overloaded))
        try await journal.record(Self.send(12, to: "carol"))
        journal.append(Fixture.rejection(13))
        try await journal.record([Fixture.intent(14)])

        let history = RecordedHistory(
            AuditTrail(directory: fixture.directory.path), sessions: sessions, logger: fixture.configuration.logger)
        let bob = try #require(UserName(canonical: "bob"))
        func ask(since: WallTime? = nil, limit: Int = 100) async -> [ReceivedNotification] {
            // Each query is awaited. One may fail until the first read of the journal is finished.
            while true {
                if let found = try? await history.received(by: bob, since: since, limit: limit) { return found }
            }
        }
        let all = await ask()
        #expect(all.count == 5)
        #expect(all.allSatisfy { $0.sender.text == "alice" && $0.service == .fcm })
        #expect(all.map(\.time) == all.map(\.time).sorted(by: >))
        #expect(await ask(limit: 2) == Array(all.prefix(2)))
        #expect(await ask(since: all[2].time) == Array(all.prefix(3)))

        // The account ends, and another person gets the name.
        let plugin = PluginName("static-users")
        let marks = try (1...3).map {
            try #require(AccountFingerprint([UInt8](repeating: $0, count: AccountFingerprint.byteCount)))
        }
        try await sessions.reconcile(AccountChanges(from: [:], to: [bob: marks[0]]), of: plugin)
        #expect(await ask().isEmpty)
        fixture.hands.pass(seconds: 60)
        try await journal.record(Self.send(20, to: "bob"))
        #expect(await ask().count == 1)
        try await sessions.reconcile(AccountChanges(from: [bob: marks[0]], to: [:]), of: plugin)
        fixture.hands.pass(seconds: 60)
        try await sessions.reconcile(AccountChanges(from: [:], to: [bob: marks[1]]), of: plugin)
        #expect(await ask().isEmpty)
        #expect(await ask(since: WallTime(microseconds: 0)).isEmpty)
        // A new password does not start a new account.
        fixture.hands.pass(seconds: 60)
        try await journal.record(Self.send(21, to: "bob"))
        try await sessions.reconcile(
            AccountChanges(from: [bob: marks[1]], to: [bob: marks[2]]), of: plugin)
        #expect(await ask().count == 1)

        history.close()
        await #expect(throws: HistoryUnavailable.self) {
            try await history.received(by: bob, since: nil, limit: 1)
        }
        await journal.close()
        try ledger.close()
    }

    @Test("Without an index the segments give the results; beyond the scan limit queries fail")
    func withoutIndex() async throws {
        let fixture = JournalFixture(segmentBytes: 2000)
        let place = TemporaryDirectory()
        let ledger = try StoredLedger(file: place("ledger.sqlite"))
        let sessions = try SessionRegister(ledger, clocks: fixture.configuration.clocks)
        let journal = try fixture.open()
        for number in 0..<30 {
            try await journal.record(Self.send(number, to: number % 3 == 0 ? "carol" : "bob"))
            fixture.hands.pass(seconds: 60)
        }
        await journal.close()
        let bob = try #require(UserName(canonical: "bob"))
        let logger = fixture.configuration.logger
        let files = SegmentFiles(directory: fixture.directory.path)
        let trail = AuditTrail(files)
        #expect(trail.update() == nil)
        let expected = try trail.received(by: bob, since: WallTime(microseconds: 0), limit: 100)
        let later = try trail.received(by: bob, since: expected[4].time, limit: 100)
        trail.close()
        try trail.index.discardAll()
        #expect(expected.count == 20 && later.count == 5)

        // `refresh` was not called, so no index is usable.
        let unread = RecordedHistory(files, sessions: sessions, logger: logger)
        #expect(try await unread.received(by: bob, since: nil, limit: 100) == expected)
        #expect(try await unread.received(by: bob, since: nil, limit: 7) == Array(expected.prefix(7)))
        #expect(try await unread.received(by: bob, since: expected[4].time, limit: 100) == later)
        unread.close()

        // A directory that must not be removed has the name of an index.
        let name = AuditIndex.fileName(first: 1)
        try? FileManager.default.removeItem(atPath: fixture.directory(name))
        try FileManager.default.createDirectory(
            atPath: fixture.directory(name) + "/kept", withIntermediateDirectories: true)
        let blocked = RecordedHistory(AuditTrail(directory: fixture.directory.path), sessions: sessions, logger: logger)
        #expect(try await blocked.received(by: bob, since: nil, limit: 100) == expected)
        blocked.close()
        #expect(FileManager.default.fileExists(atPath: fixture.directory(name) + "/kept"))
        try FileManager.default.removeItem(atPath: fixture.directory(name))
        try trail.index.discardAll()

        let bounded = RecordedHistory(files, sessions: sessions, logger: logger, scanLimit: 3000)
        await #expect(throws: HistoryUnavailable.self) {
            try await bounded.received(by: bob, since: nil, limit: 100)
        }
        // The newest sends are within the scan limit.
        #expect(try await bounded.received(by: bob, since: nil, limit: 1) == Array(expected.prefix(1)))
        bounded.close()
        try ledger.close()
    }

    @Test("A running history removes the index of a removed segment, and builds discarded indexes again")
    func following() async throws {
        let fixture = try await AuditFixture()
        let index = AuditIndex(directory: fixture.directory.path)
        try index.update()
        let names = try fixture.indexNames()
        #expect(names.count > 4)
        // Retention removes the oldest segment; the history only follows the journal.
        let oldest = try #require(try JournalReading.segments(in: fixture.directory).first)
        try FileManager.default.removeItem(atPath: fixture.directory(oldest))
        #expect(try index.follow())
        try index.buildMissing()
        #expect(try fixture.indexNames() == Array(names.dropFirst()))
        #expect(try !index.follow())
        // Another process discards the indexes.
        try AuditIndex(directory: fixture.directory.path).discardAll()
        #expect(index.unindexedBytes.value == 0)
        #expect(try index.follow())
        try index.buildMissing()
        #expect(try fixture.indexNames() == Array(names.dropFirst()))
    }

    @Test("An index that cannot be written blocks no other one, and is not tried again at once")
    func unwritable() async throws {
        let fixture = try await AuditFixture()
        let segments = try JournalReading.segments(in: fixture.directory)
        let blocked = AuditIndex.fileName(first: UInt64(segments[segments.count - 2].dropFirst(8).dropLast(6)) ?? 0)
        try FileManager.default.createDirectory(
            atPath: fixture.directory(blocked) + "/kept", withIntermediateDirectories: true)
        let index = AuditIndex(directory: fixture.directory.path)
        #expect(throws: AuditIndex.Failure.self) { try index.buildMissing() }
        #expect(try fixture.indexNames().count == segments.count - 1)
        #expect(try !index.follow())
        #expect(try Int(index.unindexedBytes.value) == fixture.directory.bytes(segments[segments.count - 2]).count)
        // No index is written if it would use the space that the journal needs.
        try FileManager.default.removeItem(atPath: fixture.directory(blocked))
        let short = AuditIndex(SegmentFiles(directory: fixture.directory.path), minimumFree: .max)
        try short.discardAll()
        #expect(throws: AuditIndex.Failure.self) { try short.buildMissing() }
        #expect(try fixture.indexNames().isEmpty)
    }

    @Test("An index of another journal with segments of the same size is not used")
    func foreignJournal() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected(isBrief: true)
        #expect(try fixture.asked(isBrief: true).answers == expected)
        let other = try await AuditFixture()
        for name in try fixture.indexNames() {
            try other.directory.write(fixture.directory.bytes(name), to: name)
        }
        let (answers, obstacle) = try other.asked(isBrief: true)
        #expect(try answers == other.expected(isBrief: true) && obstacle == nil)
        guard case .agrees = AuditTrail.compareIndex(directory: other.directory.path) else {
            Issue.record("the foreign indexes are still there")
            return
        }
    }

    @Test("An index that is damaged at run time is rebuilt, and every result is correct meanwhile")
    func damagedWhileRunning() async throws {
        let fixture = JournalFixture(segmentBytes: 2000)
        let place = TemporaryDirectory()
        let ledger = try StoredLedger(file: place("ledger.sqlite"))
        let sessions = try SessionRegister(ledger, clocks: fixture.configuration.clocks)
        let journal = try fixture.open()
        for number in 0..<30 { try await journal.record(Self.send(number, to: "bob")) }
        let bob = try #require(UserName(canonical: "bob"))
        let history = RecordedHistory(
            AuditTrail(directory: fixture.directory.path), sessions: sessions, logger: fixture.configuration.logger)
        let expected = try await history.received(by: bob, since: nil, limit: 100)
        #expect(expected.count == 30)
        for _ in 0..<20 {
            for name in try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path)
            where name.hasPrefix("index-") {
                // The builder renames and replaces files meanwhile.
                guard let size = try? fixture.directory.bytes(name).count else { continue }
                try? IndexDamage.overwrite(fixture.directory(name), with: [UInt8](repeating: 0xA5, count: size))
            }
            #expect(try await history.received(by: bob, since: nil, limit: 100) == expected)
            history.refresh()
        }
        history.close()
        await journal.close()
        try ledger.close()
        let trail = AuditTrail(directory: fixture.directory.path)
        defer { trail.close() }
        #expect(trail.update() == nil)
        #expect(try trail.received(by: bob, since: WallTime(microseconds: 0), limit: 100) == expected)
    }
}
