import Foundation
import GRDB
import GatewayCore
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

@Suite("Ledger: what is asked while it is at work", .timeLimit(.minutes(5)))
struct LedgerAccessTests {
    private let alice = Fixture.alice

    @Test("gathers while something is under way, and nothing is left behind")
    func gathering() {
        let gathering = Gathering<Int>()
        #expect(gathering.add(1))
        #expect(gathering.next() == nil)
        #expect(gathering.add(2))
        #expect(!gathering.add(3))
        #expect(!gathering.add(4))
        #expect(gathering.next() == [3, 4])
        #expect(!gathering.add(5))
        #expect(gathering.next() == [5])
        #expect(gathering.next() == nil)
        #expect(gathering.count == 0)
    }

    @Test("changes that come during a commit are committed together, and in their order")
    func groupCommit() async throws {
        let fixture = try LedgerFixture()
        let commits = Commits()
        fixture.ledger.database.add(transactionObserver: commits)
        let results = await fixture.whileBusy { ledger in
            (1...20).map { number in { await ledger.write { try $0.note(number) } } }
        }
        #expect(results.allSatisfy { (try? $0.get()) != nil })
        #expect(try await fixture.notes() == Array(1...20))
        // The first was under way alone.
        #expect(commits.count == 2)
    }

    @Test("a change that fails takes no other with it")
    func failure() async throws {
        let fixture = try LedgerFixture()
        let results = await fixture.whileBusy { ledger in
            (1...6).map { number in
                {
                    await ledger.write { tables in
                        try tables.note(number)
                        guard number.isMultiple(of: 2) else { throw LedgerUnavailable("not this one") }
                    }
                }
            }
        }
        #expect(results.map { (try? $0.get()) != nil } == [false, true, false, true, false, true])
        #expect(try await fixture.notes() == [2, 4, 6])
    }

    @Test("a database without room fails all that wait, and takes changes again when there is room")
    func full() async throws {
        let fixture = try LedgerFixture()
        let size = try await fixture.ledger.database.writeWithoutTransaction { database in
            try Int.fetchOne(database, sql: "PRAGMA max_page_count = 1") ?? 0
        }
        let text = String(repeating: "x", count: 100_000)
        let results = await fixture.whileBusy { ledger in
            (1...5).map { number in { await ledger.write { try $0.note(number, text) } } }
        }
        #expect(results.allSatisfy { (try? $0.get()) == nil })
        #expect(try await fixture.notes() == [])
        try await fixture.ledger.database.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA max_page_count = \(size + 1_000)")
        }
        try await fixture.ledger.write { try $0.note(6, text) }.get()
        #expect(try await fixture.notes() == [6])
    }

    @Test("whoever asks sees what was written before, however many ask")
    func groupRead() async throws {
        let fixture = try LedgerFixture()
        let ledger = fixture.ledger
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 1...16 {
                group.addTask {
                    for round in 1...20 {
                        let number = task * 100 + round
                        try await ledger.write { try $0.note(number) }.get()
                        #expect(try await ledger.read { try $0.notes() }.contains(number))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(ledger.reads.gathering.count == 0)
        #expect(ledger.commits.gathering.count == 0)
    }

    @Test("a question that fails takes no other with it")
    func failedRead() async throws {
        let fixture = try LedgerFixture()
        let ledger = fixture.ledger
        let answers = await withTaskGroup(of: Bool.self) { group in
            for number in 1...40 {
                group.addTask {
                    let answer: Int? = try? await ledger.read { tables in
                        guard number.isMultiple(of: 2) else { throw LedgerUnavailable("not this one") }
                        return try tables.notes().count
                    }
                    return (answer != nil) == number.isMultiple(of: 2)
                }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(answers == Array(repeating: true, count: 40))
    }

    @Test("a device that comes again costs one page, whatever the row's indexes hold")
    func renewal() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        try fixture.emptyLog()
        try await fixture.update(alice, Fixture.id(1), handle, at: Fixture.noon.adding(7))
        // The log's head, and a frame with its own.
        #expect(try fixture.directory.bytes("ledger.sqlite-wal").count == 32 + 24 + 4096)
        let seen = try await fixture.ledger.registrations(of: alice)
        #expect(seen.map(\.lastSeen) == [Fixture.noon.adding(7)])
        #expect(seen.map(\.created) == [Fixture.noon])
    }

    @Test("a registration to be deleted that comes again is live, and no longer to be deleted")
    func renewalOfDoomed() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        try await fixture.ledger.doom(Fixture.id(1), of: alice, because: .revoked)
        try await fixture.update(alice, Fixture.id(1), handle)
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        #expect(try await fixture.ledger.doomed(limit: 10) == [])
    }

    @Test("a device that comes again under its own id means itself by it")
    func renewalOfLabel() async throws {
        let fixture = try LedgerFixture()
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1), fresh: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(2), try Fixture.handle(2), fresh: Fixture.id(2))
        // The first device under the second's id.
        try await fixture.update(alice, Fixture.id(2), try Fixture.handle(1))
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(2))) == .owned(Fixture.id(1)))
        try await fixture.update(alice, Fixture.id(2), try Fixture.handle(2))
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(2))) == .owned(Fixture.id(2)))
    }

    @Test("where a user may have fewer registrations than before, the next that comes marks the others")
    func lowered() async throws {
        let fixture = try LedgerFixture()
        for number in 1...4 {
            try await fixture.update(
                alice, Fixture.id(number), try Fixture.handle(number), fresh: Fixture.id(number),
                at: Fixture.noon.adding(Int64(number)))
        }
        fixture.ledger.limits.registrations = 2
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1), at: Fixture.noon.adding(5))
        #expect(
            try await fixture.content()
                == ["1-1-1 alice live", "2-2-1 alice deleting", "3-3-1 alice deleting", "4-4-1 alice live"])
    }
}

/// Counts commits.
private final class Commits: TransactionObserver, Sendable {
    private let counted = Mutex(0)
    var count: Int { counted.withLock(\.self) }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { counted.withLock { $0 += 1 } }
    func databaseDidRollback(_ db: Database) {}
}

extension LedgerFixture {
    fileprivate typealias Outcome = Result<Void, LedgerUnavailable>

    /// The outcomes of writes that are all asked for, one after the other, before the first is carried out.
    fileprivate func whileBusy(
        _ writes: (SQLiteLedger) -> [@Sendable () async -> Outcome]
    ) async -> [Outcome] {
        let busy = DispatchSemaphore(value: 0)
        ledger.database.asyncWriteWithoutTransaction { _ in busy.wait() }
        var tasks: [Task<Outcome, Never>] = []
        for write in writes(ledger) {
            tasks.append(Task { await write() })
            // The first does not gather: it is under way.
            while ledger.commits.gathering.isIdle || ledger.commits.gathering.count < tasks.count - 1 {
                await Task.yield()
            }
        }
        busy.signal()
        var outcomes: [Outcome] = []
        for task in tasks { outcomes.append(await task.value) }
        return outcomes
    }

    fileprivate func notes() async throws -> [Int] { try await ledger.read { try $0.notes() } }

    /// Merges what SQLite's log holds into the database.
    fileprivate func emptyLog() throws {
        try ledger.database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }
}

extension LedgerTables {
    /// Something that is easy to see again.
    fileprivate func note(_ number: Int, _ text: String = "") throws {
        try execute(
            sql: "INSERT INTO property (name, value) VALUES (?, ?)",
            arguments: ["note \(number) \(text)", Data([0])])
    }

    /// In the order in which they were written.
    fileprivate func notes() throws -> [Int] {
        try String.fetchAll(database, sql: "SELECT name FROM property WHERE name LIKE 'note %' ORDER BY rowid")
            .compactMap { Int($0.split(separator: " ")[1]) }
    }
}
