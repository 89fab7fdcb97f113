import Foundation
import GRDB
import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

@Suite("Ledger: batched reads and writes", .timeLimit(.minutes(5)))
struct LedgerAccessTests {
    private let alice = Fixture.alice

    @Test("Work that arrives while other work runs is collected, and none is left behind")
    func gathering() {
        let gathering = BatchCollector<Int>()
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

    @Test("Changes that arrive during a commit are committed together, in order")
    func groupCommit() async throws {
        let fixture = try LedgerFixture()
        let commits = Commits()
        fixture.ledger.sqlite.add(transactionObserver: commits)
        let results = await fixture.whileBusy { ledger in
            (1...20).map { number in { await ledger.write { try $0.note(number) } } }
        }
        #expect(results.allSatisfy { (try? $0.get()) != nil })
        #expect(try await fixture.notes() == Array(1...20))
        #expect(commits.count == 1)
    }

    @Test("The changes beside a failing one are still committed together")
    func togetherAgain() async throws {
        let fixture = try LedgerFixture()
        let commits = Commits()
        fixture.ledger.sqlite.add(transactionObserver: commits)
        _ = await fixture.whileBusy { ledger in
            (1...20).map { number in
                {
                    await ledger.write { tables in
                        guard number != 10 else { throw LedgerUnavailable("not this one") }
                        try tables.note(number)
                    }
                }
            }
        }
        #expect(try await fixture.notes() == (1...20).filter { $0 != 10 })
        // Those before it, and those after it.
        #expect(commits.count == 2)
    }

    @Test("A change that fails only at the commit does not fail the others")
    func failedCommit() async throws {
        let fixture = try LedgerFixture()
        let results = await fixture.whileBusy { ledger in
            (1...7).map { number in
                {
                    await ledger.write { tables in
                        try tables.note(number)
                        // The registration of a label is a deferred constraint, checked at the commit.
                        guard number == 3 else { return }
                        try tables.storeLabel(Fixture.id(1), of: Fixture.bob, as: Fixture.id(2), now: Fixture.noon)
                    }
                }
            }
        }
        #expect(results.map { (try? $0.get()) != nil } == [true, true, false, true, true, true, true])
        #expect(try await fixture.notes().sorted() == [1, 2, 4, 5, 6, 7])
    }

    @Test("Changes that wait when the ledger is closed are written first")
    func closing() async throws {
        let directory = TemporaryDirectory()
        let fixture = try LedgerFixture(directory)
        let results = await fixture.whileBusy(closing: true) { ledger in
            (1...5).map { number in { await ledger.write { try $0.note(number) } } }
        }
        #expect(results.allSatisfy { (try? $0.get()) != nil })
        #expect(try await LedgerFixture(directory).notes() == [1, 2, 3, 4, 5])
        #expect(await (try? fixture.ledger.write { try $0.note(6) }.get()) == nil)
        #expect((try? await fixture.notes()) == nil)
    }

    @Test("A change that fails does not fail the others")
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

    @Test("A full database fails all waiting changes, and accepts changes again when there is space")
    func full() async throws {
        let fixture = try LedgerFixture()
        let size = try await fixture.ledger.sqlite.writeWithoutTransaction { database in
            try Int.fetchOne(database, sql: "PRAGMA max_page_count = 1") ?? 0
        }
        let text = String(repeating: "x", count: 100_000)
        let results = await fixture.whileBusy { ledger in
            (1...5).map { number in { await ledger.write { try $0.note(number, text) } } }
        }
        #expect(results.allSatisfy { (try? $0.get()) == nil })
        #expect(try await fixture.notes() == [])
        try await fixture.ledger.sqlite.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA max_page_count = \(size + 1_000)")
        }
        try await fixture.ledger.write { try $0.note(6, text) }.get()
        #expect(try await fixture.notes() == [6])
    }

    @Test("A read requested while others run sees the changes written meanwhile")
    func groupRead() async throws {
        let fixture = try LedgerFixture()
        let ledger = fixture.ledger
        let (begun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let first = Task {
            try await ledger.read { tables in
                let notes = try tables.notes()
                begun.signal()
                mayEnd.wait()
                return notes
            }
        }
        await Task.detached { begun.wait() }.value
        try await ledger.write { try $0.note(1) }.get()
        // Reads that arrive meanwhile run together, and one that fails does not fail the others.
        let others = (1...6).map { number in
            Task.immediate {
                try await ledger.read { tables in
                    if number == 3 { throw LedgerUnavailable("not this one") }
                    return try tables.notes()
                }
            }
        }
        // An immediate task returns here once its read is collected.
        #expect(ledger.reads.collector.count == others.count)
        mayEnd.signal()
        #expect(try await first.value == [])
        for (number, other) in zip(1..., others) {
            #expect((try? await other.value) == (number == 3 ? nil : [1]))
        }
    }

    @Test("A marked registration that registers again is live and no longer marked")
    func renewalOfDoomed() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        _ = try await fixture.ledger.revoke(Fixture.id(1))
        try await fixture.update(alice, Fixture.id(1), handle)
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        #expect(try await fixture.ledger.pendingDeletion(limit: 10) == [])
    }

    @Test("A marked registration stays marked when its device only requests its id")
    func reservationOfDoomed() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        _ = try await fixture.ledger.revoke(Fixture.id(1))
        _ = try await fixture.create(alice, handle, given: Fixture.id(1), at: Fixture.noon.adding(7))
        #expect(try await fixture.content() == ["1-1-1 alice deleting"])
        #expect(
            try await fixture.look(.sweep(Fixture.id(1)))
                == .pendingDeletion(Fixture.id(1), owner: alice, because: .revoked))
        #expect(try await fixture.ledger.registrations(of: alice).map(\.lastSeen) == [Fixture.noon.adding(7)])
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

    /// Requests writes one after the other before the first one runs, and returns their outcomes.
    fileprivate func whileBusy(
        closing: Bool = false, _ writes: (StoredLedger) -> [@Sendable () async -> Outcome]
    ) async -> [Outcome] {
        let busy = DispatchSemaphore(value: 0)
        ledger.sqlite.asyncWriteWithoutTransaction { _ in busy.wait() }
        var tasks: [Task<Outcome, Never>] = []
        for write in writes(ledger) {
            // The immediate task returns here once its write waits.
            tasks.append(Task.immediate { await write() })
            #expect(ledger.commits.count == tasks.count)
        }
        let closed = closing ? Task.detached { [ledger] in try? ledger.close() } : nil
        busy.signal()
        var outcomes: [Outcome] = []
        for task in tasks { outcomes.append(await task.value) }
        await closed?.value
        return outcomes
    }

    fileprivate func notes() async throws -> [Int] { try await ledger.read { try $0.notes() } }

    /// Copies the write-ahead log into the database.
    func emptyLog() throws {
        try ledger.sqlite.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }
}

extension LedgerTables {
    /// Writes a row that is easy to find.
    fileprivate func note(_ number: Int, _ text: String = "") throws {
        try execute(
            sql: "INSERT INTO property (name, value) VALUES (?, ?)",
            arguments: ["note \(number) \(text)", [UInt8(0)]])
    }

    /// Returns the notes in the order in which they were written.
    fileprivate func notes() throws -> [Int] {
        try rows(sql: "SELECT name FROM property WHERE name LIKE 'note %' ORDER BY rowid")
            .compactMap { Int(try $0.required("name", as: String.self).split(separator: " ")[1]) }
    }
}
