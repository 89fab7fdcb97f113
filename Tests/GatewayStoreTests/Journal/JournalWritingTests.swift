import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

@Suite("Journal: batches, limits and disk space", .timeLimit(.minutes(5)))
struct JournalWritingTests {
    @Test("A single record costs one synchronization; records that arrive during one form a single batch")
    func batches() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        let atStart = fixture.files.state.withLock { $0.batches }
        try await journal.record([Fixture.intent(0)])
        #expect(fixture.files.state.withLock { $0.batches } == atStart + 1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            await Self.withDiskHeld(fixture) {
                group.addTask { try await journal.record([Fixture.intent(1)]) }
                // The writer has taken the first record and cannot finish it.
                await fixture.files.untilHeld()
                // An immediate task returns here once its record is queued.
                for number in 2...500 { group.addImmediateTask { try await journal.record([Fixture.intent(number)]) } }
                #expect(journal.queue.load.queued == 499)
            }
            try await group.waitForAll()
        }
        #expect(fixture.files.state.withLock { $0.batches } == atStart + 3)
        await journal.close()
        let calls = try fixture.lines().compactMap(\.call)
        #expect(calls.count == 501)
        #expect(Set(calls).count == 501)
    }

    @Test("Records of one call stay together and in order among those of others")
    func together() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    try await journal.record(["a", "b", "c"].map { Fixture.intent(number, to: $0) })
                    for name in ["a", "b", "c"] { journal.append(Fixture.outcome(number, to: name)) }
                }
            }
            try await group.waitForAll()
        }
        await journal.close()
        let lines = try fixture.lines().filter { $0.kind == "intent" }
        for start in stride(from: 0, to: lines.count, by: 3) {
            #expect(lines[start..<start + 3].map(\.recipient) == ["a", "b", "c"])
            #expect(Set(lines[start..<start + 3].map(\.call)).count == 1)
            #expect(lines[start].seq + 2 == lines[start + 2].seq)
        }
        #expect(try fixture.lines().count { $0.kind == "outcome" } == 150)
    }

    @Test("A file system that writes few bytes at a time gets all of them")
    func shortWrites() async throws {
        let fixture = JournalFixture()
        fixture.files.state.withLock { $0.longestWrite = 7 }
        let journal = try fixture.open()
        try await journal.record([Fixture.intent(1)])
        await journal.close()
        #expect(try fixture.lines().count == 3)
    }

    @Test("A full queue rejects intents at once, and has room for the outcome of each accepted one")
    func fullQueue() async throws {
        let fixture = JournalFixture(queueLimit: 100)
        let journal = try fixture.open()
        try await journal.record((0..<40).map { Fixture.intent($0) })
        #expect(journal.queue.load == (0, 40))
        try await Self.withDiskHeld(fixture) {
            journal.append(Fixture.outcome(0))
            await fixture.files.untilHeld()
            // 39 outcomes are expected. 30 intents with their outcomes need 60 of the remaining 61 places.
            let admitted = Task.immediate { try await journal.record((100..<130).map { Fixture.intent($0) }) }
            #expect(journal.queue.load.queued == 30)
            await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(200)]) }
            journal.append(Fixture.rejection(300))
            for number in 1..<40 { journal.append(Fixture.outcome(number)) }
            for number in 100..<130 { journal.append(Fixture.outcome(number)) }
            #expect(journal.queue.load == (99, 0))
            fixture.files.releaseDisk()
            try await admitted.value
            fixture.files.holdDisk()
        }
        await journal.close()
        let lines = try fixture.lines()
        #expect(lines.count { $0.kind == "intent" } == 70)
        #expect(lines.count { $0.kind == "outcome" } == 70)
        #expect(lines.count { $0.kind == "refusal" } == 0)
        let dropped = try #require(lines.first { $0.result == "notes-dropped" })
        #expect(dropped.members["count"] as? Int == 1)
    }

    @Test("Too little disk space rejects calls and drops rejections, but completes intents, and recovers by itself")
    func minimumFree() async throws {
        let fixture = JournalFixture(minimumFree: 1000)
        let journal = try fixture.open()
        try await journal.record([Fixture.intent(1), Fixture.intent(2)])
        fixture.files.state.withLock { $0.free = 999 }
        try await journal.record([Fixture.intent(3)])
        fixture.hands.pass(seconds: 1)
        await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(4)]) }
        #expect(journal.outage?.detail.contains("999 bytes are free") == true)
        #expect(fixture.log.lines(.error).contains { $0.contains("Journal is short of disk space") })
        #expect(fixture.configuration.metrics.freeBytes.value == 999)
        journal.append(Fixture.outcome(1))
        journal.append(Fixture.rejection(5))
        try await journal.record([Fixture.outcome(2)])
        #expect(fixture.files.state.withLock { $0.spaceLooks } < 5)
        fixture.files.state.withLock { $0.free = 1000 }
        fixture.hands.pass(seconds: 1)
        await fixture.untilWell(journal)
        try await journal.record([Fixture.intent(6)])
        await journal.close()
        let lines = try fixture.lines()
        #expect(lines.filter { $0.kind == "intent" }.compactMap(\.call) == [1, 2, 3, 6].map(Fixture.call))
        #expect(lines.filter { $0.kind == "outcome" }.compactMap(\.call) == [1, 2].map(Fixture.call))
        #expect(lines.contains { $0.result == "notes-dropped" })
    }

    @Test("A closed journal writes its notes, then `stop`, and accepts nothing more")
    func close() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        for number in 0..<1000 { journal.append(Fixture.rejection(number)) }
        await journal.close()
        await journal.close()
        await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(1)]) }
        #expect(journal.outage?.detail == "the journal is closed")
        journal.append(Fixture.outcome(1))
        let lines = try fixture.lines()
        #expect(lines.count == 1002)
        #expect(lines.last?.kind == "stop")
    }

    /// Runs the body while no synchronization can finish.
    static func withDiskHeld(_ fixture: JournalFixture, _ body: () async throws -> Void) async rethrows {
        fixture.files.holdDisk()
        defer { fixture.files.releaseDisk() }
        try await body()
    }
}
