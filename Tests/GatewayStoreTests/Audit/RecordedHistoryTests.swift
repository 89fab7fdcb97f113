import Foundation
import GatewayCore
import Logging
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

@Suite("Audit: what recipients are told", .timeLimit(.minutes(5)))
struct RecordedHistoryTests {
    private static func send(_ number: Int, to recipient: String, result: CallResult = .accepted) -> [JournalRecord] {
        var facts = Fixture.facts(number, to: recipient)
        facts.pns = .fcm
        return [
            JournalRecord(.intent, facts: facts),
            JournalRecord(.outcome, facts: facts, result: result.rawValue),
        ]
    }

    @Test("forwarded sends only, the newest first, none from before the name's present life")
    func lives() async throws {
        let fixture = JournalFixture(segmentBytes: 2000)
        let place = TemporaryDirectory()
        let ledger = try SQLiteLedger(file: place("ledger.sqlite"))
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
        journal.note(Fixture.refusal(13))
        try await journal.record([Fixture.intent(14)])

        let history = RecordedHistory(
            directory: fixture.directory.path, sessions: sessions, logger: fixture.configuration.logger)
        let bob = try #require(UserName(canonical: "bob"))
        func ask(since: WallTime? = nil, limit: Int = 100) async -> [ReceivedNotification] {
            // Nothing can be told while the journal is read for the first time.
            while true {
                if let found = try? await history.received(by: bob, since: since, limit: limit) { return found }
                await Task.yield()
            }
        }
        let all = await ask()
        #expect(all.count == 5)
        #expect(all.allSatisfy { $0.sender.text == "alice" && $0.service == .fcm })
        #expect(all.map(\.time) == all.map(\.time).sorted(by: >))
        #expect(await ask(limit: 2) == Array(all.prefix(2)))
        #expect(await ask(since: all[2].time) == Array(all.prefix(3)))

        // The account ends, and somebody else gets the name.
        let plugin = PluginName("static-users")
        let marks = try (1...3).map { try #require(AccountMark([UInt8](repeating: $0, count: AccountMark.byteCount))) }
        try await sessions.settle(AccountChanges(from: [:], to: [bob: marks[0]]), of: plugin)
        #expect(await ask().isEmpty)
        fixture.hands.pass(seconds: 60)
        try await journal.record(Self.send(20, to: "bob"))
        #expect(await ask().count == 1)
        try await sessions.settle(AccountChanges(from: [bob: marks[0]], to: [:]), of: plugin)
        fixture.hands.pass(seconds: 60)
        try await sessions.settle(AccountChanges(from: [:], to: [bob: marks[1]]), of: plugin)
        #expect(await ask().isEmpty)
        #expect(await ask(since: WallTime(microseconds: 0)).isEmpty)
        // Another password is the same life.
        fixture.hands.pass(seconds: 60)
        try await journal.record(Self.send(21, to: "bob"))
        try await sessions.settle(
            AccountChanges(from: [bob: marks[1]], to: [bob: marks[2]]), of: plugin)
        #expect(await ask().count == 1)

        history.close()
        await #expect(throws: HistoryUnavailable.self) {
            try await history.received(by: bob, since: nil, limit: 1)
        }
        await journal.close()
        try ledger.close()
    }
}
