internal import GatewayCore
internal import Synchronization

/// Commits the changes that arrive during a commit in one transaction, because one disk synchronization costs more than
/// many changes.
///
/// Each change is still atomic. If one change of a group fails, the transaction is rolled back and the others are tried
/// again without it. If the group conflicts with changes of another node, it is tried again as it is.
final class GroupCommit<Tables: DatabaseTables>: Sendable {
    typealias Acknowledgement = @Sendable () -> Void

    private struct Change: Sendable {
        /// Whether the change only tests that the ledger can be written.
        let isTest: Bool
        /// Whether the change stores changes for the memory of other nodes.
        var announces = false
        /// Writes the change inside a transaction and returns the acknowledgement to its caller. May run again after a
        /// rollback.
        let apply: @Sendable (Tables) throws -> Acknowledgement
        /// Passes the error to the caller.
        let fail: @Sendable (LedgerUnavailable) -> Void
    }

    private enum Attempt {
        /// The changes are on disk; the acknowledgements resume their callers.
        case committed([Acknowledgement])
        /// The transaction was rolled back, or it is unknown whether it was.
        case rolledBack(any Error, Fault)
    }

    private enum Fault {
        /// The change at this index failed.
        case change(Int)
        /// All changes were written, and the commit failed.
        case commit
        /// The transaction could not be started.
        case begin
        /// The changes conflict with those of another node. They may succeed if they are tried again.
        case conflict
        /// The connection was lost during the commit, so the changes may be stored.
        case unknown
    }

    private let database: any SQLDatabase
    private let health: LedgerHealth
    private let waiting = Mutex<[Change]>([])
    private let groupsBegun = Atomic<UInt64>(0)
    private let groupsEnded = Atomic<UInt64>(0)

    init(_ database: any SQLDatabase, health: LedgerHealth) {
        self.database = database
        self.health = health
    }

    /// The number of waiting changes. For tests.
    var count: Int { waiting.withLock(\.count) }

    /// The version of the ledger's content. It is nil during a commit and different after it, so whatever was read at a
    /// version still holds at the same version.
    var version: UInt64? {
        let ended = groupsEnded.load(ordering: .acquiring)
        return groupsBegun.load(ordering: .acquiring) == ended ? ended : nil
    }

    /// Adds a change that nobody waits for.
    ///
    /// - Parameters:
    ///   - apply: Writes the change. Returns what to do once it is on disk. May run again after a rollback.
    ///   - fail: Called if the change is not or may not be on disk.
    func add(
        _ apply: @escaping @Sendable (Tables) throws -> Acknowledgement,
        orElse fail: @escaping @Sendable (LedgerUnavailable) -> Void = { _ in }
    ) {
        add(Change(isTest: false, apply: apply, fail: fail))
    }

    /// Writes a change durably. Resumes once it is on disk or has failed.
    ///
    /// - Parameter announcing: Whether the change stores changes for the memory of other nodes.
    func write<Value: Sendable>(
        isTest: Bool = false, announcing: Bool = false, _ body: @escaping @Sendable (Tables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        await withCheckedContinuation { continuation in
            let change = Change(isTest: isTest, announces: announcing) { tables in
                let value = try body(tables)
                return { continuation.resume(returning: .success(value)) }
            } fail: {
                continuation.resume(returning: .failure($0))
            }
            add(change)
        }
    }

    private func add(_ change: Change) {
        waiting.withLock { $0.append(change) }
        // Each change schedules its own write, so that it precedes a later close of the database. Usually an earlier
        // write has already included it.
        database.enqueue { [self] in
            let changes = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            if !changes.isEmpty { commit(changes) }
        }
    }

    /// The number of times that a group is tried while it conflicts with changes of other nodes.
    static var maximumAttempts: Int { 20 }

    /// Commits the changes in groups that are as large as possible.
    private func commit(_ changes: [Change]) {
        groupsBegun.add(1, ordering: .sequentiallyConsistent)
        defer { groupsEnded.add(1, ordering: .sequentiallyConsistent) }
        var rest = changes[...]
        var groupSize = rest.count
        while !rest.isEmpty {
            switch attemptRepeatedly(rest.prefix(groupSize)) {
            case .committed(let acknowledgements):
                health.committed(isTest: rest.prefix(groupSize).allSatisfy(\.isTest))
                // Acknowledge after updating the health, because a resumed caller may read it.
                for acknowledge in acknowledgements { acknowledge() }
                rest = rest.dropFirst(groupSize)
                groupSize = rest.count
            case .rolledBack(let error, .conflict), .rolledBack(let error, .unknown):
                fail(rest.prefix(groupSize), with: error)
                rest = rest.dropFirst(groupSize)
                groupSize = rest.count
            case .rolledBack(_, .change(let index)) where index > 0:
                groupSize = index
            case .rolledBack(_, .commit) where groupSize > 1:
                groupSize /= 2
            case .rolledBack(let error, .change), .rolledBack(let error, .commit):
                fail(rest.prefix(1), with: error)
                rest.removeFirst()
                groupSize = rest.count
            case .rolledBack(let error, .begin):
                return fail(rest, with: error)
            }
        }
    }

    private func fail(_ changes: ArraySlice<Change>, with error: any Error) {
        health.recordWriteFailure(error)
        for change in changes { change.fail(database.unavailable(error)) }
    }

    /// Writes all of the changes, or none. Tries again at once if they conflict with those of another node.
    private func attemptRepeatedly(_ changes: ArraySlice<Change>) -> Attempt {
        for _ in 1..<Self.maximumAttempts {
            let attempt = attempt(changes)
            if case .rolledBack(_, .conflict) = attempt { continue }
            return attempt
        }
        return attempt(changes)
    }

    /// Writes all of the changes, or none.
    private func attempt(_ changes: ArraySlice<Change>) -> Attempt {
        var fault = Fault.begin
        var written: [Acknowledgement] = []
        do {
            try database.inTransaction(announcing: changes.contains(where: \.announces)) { transaction in
                for (index, change) in changes.enumerated() {
                    fault = .change(index)
                    written.append(try change.apply(Tables(transaction)))
                }
                fault = .commit
            }
        } catch {
            if database.isOutcomeUnknown(error) { return .rolledBack(error, .unknown) }
            return .rolledBack(error, database.isConflict(error) ? .conflict : fault)
        }
        return .committed(written)
    }
}
