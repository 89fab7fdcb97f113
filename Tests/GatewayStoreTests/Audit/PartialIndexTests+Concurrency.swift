import Dispatch
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

extension PartialIndexTests {
    @Test("A call that was answered is in the next page, while others are recorded and segments rotate")
    func ownWrites() async throws {
        let fixture = JournalFixture(segmentBytes: 20_000)
        let ledger = try StoredLedger(file: TemporaryDirectory()("ledger.sqlite"))
        let sessions = try SessionRegister(ledger, clocks: fixture.configuration.clocks)
        let journal = try fixture.open()
        let history = RecordedHistory(
            AuditTrail(directory: fixture.directory.path), sessions: sessions, logger: fixture.configuration.logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for round in 0..<30 {
                        let number = writer * 1000 + round
                        let user = try #require(UserName(canonical: "writer\(writer)"))
                        var facts = JournalFixture.facts(number, to: "bob")
                        facts.user = user
                        try await journal.record([JournalRecord(.intent, facts: facts)])
                        var query = AuditQuery()
                        query.from = user
                        let page = try await history.page(query, limit: 1, isOfCalls: true)
                        let call = page.rows.first?.first.flatMap { JournalLineReader(bytes: $0[...]).text("call") }
                        #expect(call == JournalFixture.call(number))
                    }
                }
            }
            try await group.waitForAll()
        }
        await journal.close()
        history.close()
        try ledger.close()
    }

    @Test("Records are written and queries run while an update is in progress")
    func concurrency() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        var random = SplitMix(seed: 3)
        try await journal.record(Self.send(0, &random))
        let trail = Self.trail(fixture)
        let (isRunning, mayContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let done = Task {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                DispatchQueue(label: "update").async {
                    continuation.resume(
                        with: Result {
                            try trail.index.follow(onUpdate: { _, _ in
                                isRunning.signal()
                                mayContinue.wait()
                            })
                        }.map { _ in })
                }
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "wait").async {
                isRunning.wait()
                continuation.resume()
            }
        }
        try await journal.record(Self.send(1, &random))
        #expect(try Self.answers(trail) == Self.answers(AuditTrail(directory: fixture.directory.path)))
        mayContinue.signal()
        try await done.value
        #expect(try Self.answers(trail) == Self.answers(AuditTrail(directory: fixture.directory.path)))
        await journal.close()
        trail.close()
    }
}
