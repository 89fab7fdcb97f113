import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

@Suite("Journal: disk failures", .timeLimit(.minutes(5)))
struct JournalFailureTests {
    /// Records each call until it is acknowledged. Returns the number of rejected attempts.
    private static func persist(
        _ calls: Range<Int>, in journal: JournalFile, of fixture: JournalFixture
    ) async throws -> (done: Set<Int>, refused: Int) {
        var done: Set<Int> = []
        var refused = 0
        for number in calls {
            do throws(JournalUnavailable) {
                try await journal.record([Fixture.intent(number)])
                done.insert(number)
                journal.append(Fixture.outcome(number))
            } catch {
                refused += 1
                await fixture.untilWell(journal)
            }
        }
        return (done, refused)
    }

    @Test(
        "After a failure of any call, acknowledged records are on disk and rejected ones are not in the journal",
        arguments: 1...TestRun.count(full: 50, otherwise: 20))
    func oneFailure(call: Int) async throws {
        for leaving in [FaultyFileSystem.Leaving.half, .all, .nothing] {
            let fixture = JournalFixture(segmentBytes: 2000)
            let journal = try fixture.open()
            fixture.files.fail([call], leaving: leaving)
            let (done, _) = try await Self.persist(0..<25, in: journal, of: fixture)
            await fixture.untilWell(journal)
            let durable = fixture.files.state.withLock { $0.durable }
            for number in done {
                let text = "\"kind\":\"intent\",\"call\":\"\(Fixture.call(number))\""
                let isDurable = durable.values.contains { String(decoding: $0, as: UTF8.self).contains(text) }
                #expect(isDurable, "\(number) was acknowledged and is not on disk")
            }
            await journal.close()
            let lines = try fixture.lines()
            let intents = lines.filter { $0.kind == "intent" }.compactMap(\.call)
            #expect(intents == done.sorted().map(Fixture.call))
            #expect(lines.filter { $0.kind == "outcome" }.compactMap(\.call).sorted() == intents.sorted())
            #expect(lines.contains { $0.result == "write-failed" })
            #expect(!fixture.files.state.withLock { $0.usedAfterFailure }, "a sealed segment was used again")
            // The next start finds nothing to repair.
            await (try JournalFixture(fixture.directory).open()).close()
            #expect(try fixture.lines().suffix(2).map(\.kind) == ["start", "stop"])
        }
    }

    @Test("Several failures in a row, including those of the new segments")
    func manyFailures() async throws {
        let fixture = JournalFixture(segmentBytes: 2000)
        let journal = try fixture.open()
        fixture.files.fail(Set(stride(from: 5, to: 60, by: 2)).union([21, 22, 23, 24]))
        let (done, refused) = try await Self.persist(0..<40, in: journal, of: fixture)
        await fixture.untilWell(journal)
        await journal.close()
        #expect(refused > 0)
        let lines = try fixture.lines()
        #expect(lines.filter { $0.kind == "intent" }.compactMap(\.call) == done.sorted().map(Fixture.call))
        #expect(lines.count { $0.kind == "outcome" } == done.count)
    }

    @Test("During an outage calls are rejected at once, and outcomes are kept and written once afterwards")
    func outage() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        try await journal.record((0..<10).map { Fixture.intent($0) })
        fixture.files.state.withLock { $0.failsAlways = true }
        await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(50)]) }
        #expect(journal.outage?.detail.contains("injected") == true)
        for number in 0..<10 { journal.append(Fixture.outcome(number)) }
        await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(51)]) }
        #expect(journal.queue.load == (10, 0))
        fixture.files.state.withLock { $0.failsAlways = false }
        await fixture.untilWell(journal)
        try await journal.record([Fixture.intent(52)])
        await journal.close()
        let lines = try fixture.lines()
        #expect(lines.filter { $0.kind == "outcome" }.compactMap(\.call) == (0..<10).map(Fixture.call))
        #expect(lines.filter { $0.kind == "intent" }.compactMap(\.call).last == Fixture.call(52))
        #expect(lines.count { $0.kind == "recovered" } == 1)
    }

    @Test("A note whose batch fails is written to the next segment")
    func noteInFailedBatch() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        try await journal.record([Fixture.intent(1)])
        fixture.files.fail([1], leaving: .all)
        journal.append(Fixture.outcome(1))
        try await Self.eventually(journal, of: fixture)
        await journal.close()
        #expect(try fixture.lines().map(\.kind) == ["start", "intent", "recovered", "outcome", "stop"])
    }

    /// Returns once all notes queued before are on disk.
    private static func eventually(_ journal: JournalFile, of fixture: JournalFixture) async throws {
        while true {
            if (try? await journal.record([])) != nil { return }
            await fixture.untilWell(journal)
        }
    }

    @Test("Closing during an outage finishes, with or without a final successful write", arguments: [true, false])
    func closeDuringOutage(works: Bool) async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        try await journal.record([Fixture.intent(1)])
        fixture.files.state.withLock { $0.failsAlways = true }
        journal.append(Fixture.outcome(1))
        await fixture.untilIll(journal)
        if works { fixture.files.state.withLock { $0.failsAlways = false } }
        await journal.close()
        fixture.files.state.withLock { $0.failsAlways = false }
        if works { #expect(try fixture.lines().map(\.kind) == ["start", "intent", "recovered", "outcome", "stop"]) }
        await (try JournalFixture(fixture.directory).open()).close()
        let outcomes = try fixture.lines().filter { $0.kind == "outcome" }
        #expect(outcomes.map(\.result) == [works ? "accepted" : "unknown-after-crash"])
    }

    @Test(
        "Each of the first 50 writes fails with any remainder: no caller resumes before the next successful one",
        arguments: [FaultyFileSystem.Leaving.half, .all, .nothing])
    func failedWrites(leaving: FaultyFileSystem.Leaving) async throws {
        for call in 1...50 {
            let fixture = JournalFixture(segmentBytes: 4000, isSigned: true)
            let journal = try fixture.open()
            fixture.files.fail([call], leaving: leaving)
            var number = 0
            var hasFailed = false
            while !hasFailed {
                number += 1
                do throws(JournalUnavailable) {
                    try await journal.record([Fixture.intent(number)])
                } catch {
                    hasFailed = true
                }
                if fixture.files.state.withLock({ $0.calls >= call }), !hasFailed {
                    // The failed write belonged to none of the calls, or came after the last one resumed.
                    await fixture.untilWell(journal)
                    break
                }
            }
            await fixture.untilWell(journal)
            try await journal.record([Fixture.intent(900)])
            await journal.close()
            let calls = try fixture.lines().filter { $0.kind == "intent" }.compactMap(\.call)
            #expect(calls == (1..<(hasFailed ? number : number + 1)).map(Fixture.call) + [Fixture.call(900)])
            #expect(try fixture.verified().finding == nil, "\(call)")
        }
    }

    @Test("On a full disk preallocation stops, then calls are rejected, and lines are complete")
    func fullDisk() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        fixture.files.state.withLock { $0.capacity = 100_000 }
        var done = 0
        while (try? await journal.record([Fixture.intent(done)])) != nil { done += 1 }
        #expect(journal.outage?.detail.contains("No space left") == true)
        // Once for preallocation and once for the required room, but not before each line.
        #expect(fixture.files.state.withLock { $0.rejections } == 2)
        let name = try #require(try JournalReading.segments(in: fixture.directory).first)
        // All of the disk was used before a call was rejected.
        #expect(JournalContent.endOffset(of: try fixture.directory.bytes(name)) > 99_000)
        fixture.files.state.withLock { $0.capacity = .max }
        await fixture.untilWell(journal)
        try await journal.record([Fixture.intent(done + 1)])
        await journal.close()
        let calls = try fixture.lines().filter { $0.kind == "intent" }.compactMap(\.call)
        #expect(calls == (0..<done).map(Fixture.call) + [Fixture.call(done + 1)])
    }

    @Test("A journal whose first write fails does not open", arguments: 1...4)
    func failedOpen(call: Int) async throws {
        let fixture = JournalFixture()
        fixture.files.fail([call])
        #expect(throws: JournalUnavailable.self) { try fixture.open() }
        await (try fixture.open()).close()
        #expect(try fixture.lines().map(\.kind) == ["start", "stop"])
    }
}
