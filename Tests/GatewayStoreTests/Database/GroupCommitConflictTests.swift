import Dispatch
import GatewayCore
import Synchronization
import Testing

@testable import GatewayStore

/// Groups of changes that conflict with those of another node, with a database that follows a script.
struct GroupCommitConflictTests {
    private typealias Commits = GroupCommit<ScriptedTables>
    private static let maximumAttempts = Commits.maximumAttempts

    private let database = ScriptedDatabase()

    /// Writes one change for each text in one group, and returns whether each succeeded.
    private func write(_ texts: [String], _ commits: Commits) async -> [Bool] {
        let busy = DispatchSemaphore(value: 0)
        database.enqueue { busy.wait() }
        // An immediate task returns here once its change waits.
        let tasks = texts.map { text in
            Task.immediate { await commits.write { try $0.add(text) }.isSuccess }
        }
        busy.signal()
        var results: [Bool] = []
        for task in tasks { results.append(await task.value) }
        return results
    }

    @Test("A group that conflicts is tried again as it is", arguments: ScriptedDatabase.Conflict.allCases)
    func again(_ conflict: ScriptedDatabase.Conflict) async {
        let health = LedgerHealth(database, proofLifetime: .seconds(86_400))
        let commits = Commits(database, health: health)
        database.conflicts.withLock { $0 = [conflict, conflict] }
        #expect(await write(["a", "b"], commits) == [true, true])
        #expect(database.committed == ["a", "b"])
        #expect(database.attempts == 3)
        #expect(health.commits == 1)
    }

    @Test("A group that always conflicts fails, and the next one is tried")
    func bound() async {
        let health = LedgerHealth(database, proofLifetime: .seconds(86_400))
        let commits = Commits(database, health: health)
        database.conflicts.withLock { $0 = Array(repeating: .atStatement, count: Self.maximumAttempts) }
        #expect(await write(["a", "b"], commits) == [false, false])
        #expect(database.committed.isEmpty)
        #expect(database.attempts == Self.maximumAttempts)
        // The database says that a conflict concerns only the changes.
        #expect(health.fault == nil)
        #expect(await write(["c"], commits) == [true])
        #expect(database.committed == ["c"])
    }

    @Test("A change that fails beside a conflict is left out, and the others are committed")
    func failure() async {
        let commits = Commits(database, health: LedgerHealth(database, proofLifetime: .seconds(86_400)))
        database.conflicts.withLock { $0 = [.atCommit] }
        #expect(await write(["a", ScriptedTables.rejected, "b"], commits) == [true, false, true])
        #expect(database.committed == ["a", "b"])
    }
}

/// The changes of these tests.
private struct ScriptedTables: DatabaseTables {
    static let rejected = "rejected"

    let transaction: any SQLTransaction

    init(_ transaction: any SQLTransaction) { self.transaction = transaction }

    func add(_ text: String) throws {
        if text == Self.rejected { throw LedgerUnavailable("not this one") }
        try transaction.execute(sql: "add", arguments: [text])
    }
}

/// A database that stores texts, and reports conflicts as the script says.
final class ScriptedDatabase: SQLDatabase {
    enum Conflict: Error, CaseIterable {
        case atBegin, atStatement, atCommit
    }

    private struct State {
        var committed: [String] = []
        var attempts = 0
    }

    /// The conflicts of the next transactions. Later ones have none.
    let conflicts = Mutex<[Conflict]>([])
    private let state = Mutex(State())
    private let writer = DispatchQueue(label: "scripted")

    var committed: [String] { state.withLock(\.committed) }
    var attempts: Int { state.withLock(\.attempts) }

    func enqueue(_ work: @escaping @Sendable () -> Void) { writer.async { work() } }

    func inTransaction(announcing: Bool, _ body: (any SQLTransaction) throws -> Void) throws {
        state.withLock { $0.attempts += 1 }
        let conflict = conflicts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if conflict == .atBegin { throw Conflict.atBegin }
        let transaction = Transaction(conflict: conflict)
        try body(transaction)
        if conflict == .atCommit { throw Conflict.atCommit }
        state.withLock { $0.committed += transaction.texts }
    }

    func isConflict(_ error: any Error) -> Bool { error is Conflict }
    func isFailure(_ error: any Error) -> Bool { false }
    func damage(in error: any Error) -> String? { nil }
    func message(for error: any Error) -> String { "\(error)" }
    func close() {}

    func read<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        try body(Transaction(conflict: nil))
    }

    func write<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value {
        try body(Transaction(conflict: nil))
    }

    func enqueueRead(_ body: @escaping @Sendable (Result<any SQLTransaction, any Error>) -> Void) {
        body(.success(Transaction(conflict: nil)))
    }

    private final class Transaction: SQLTransaction {
        let conflict: Conflict?
        var texts: [String] = []

        init(conflict: Conflict?) { self.conflict = conflict }

        func execute(sql: String, arguments: SQLArguments) throws -> Int {
            // The second statement conflicts, so that the first change of the group has been written.
            if conflict == .atStatement, !texts.isEmpty { throw Conflict.atStatement }
            texts += arguments.values.compactMap { String($0) }
            return 1
        }

        func forEachRow(sql: String, arguments: SQLArguments, _ body: (SQLRow) throws -> Void) {}
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
