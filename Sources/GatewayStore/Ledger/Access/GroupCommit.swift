internal import GRDB
internal import GatewayCore
internal import Synchronization

/// The statements on the tables of a database, valid only during the database access that created them.
protocol DatabaseTables {
    init(_ database: Database)
}

/// Commits the changes that arrive during a commit in one transaction, because one disk synchronization costs more than
/// many changes.
///
/// Each change is still atomic. If one change of a group fails, the transaction is rolled back and the others are tried
/// again without it.
final class GroupCommit<Tables: DatabaseTables>: Sendable {
    typealias Acknowledgement = @Sendable () -> Void

    private struct Change: Sendable {
        /// Whether the change only tests that the ledger can be written.
        let isTest: Bool
        /// Writes the change inside a transaction and returns the acknowledgement to its caller. May run again after a
        /// rollback.
        let apply: @Sendable (Tables) throws -> Acknowledgement
        /// Passes the error to the caller.
        let fail: @Sendable (LedgerUnavailable) -> Void
    }

    private enum Attempt {
        /// The changes are on disk; the acknowledgements resume their callers.
        case committed([Acknowledgement])
        /// The transaction was rolled back.
        case rolledBack(any Error, Fault)
    }

    private enum Fault {
        /// The change at this index failed.
        case change(Int)
        /// All changes were written, and the commit failed.
        case commit
        /// The transaction could not be started.
        case begin
    }

    private let database: DatabasePool
    private let health: LedgerHealth
    private let waiting = Mutex<[Change]>([])
    private let groupsBegun = Atomic<UInt64>(0)
    private let groupsEnded = Atomic<UInt64>(0)

    init(_ database: DatabasePool, health: LedgerHealth) {
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
    /// - Parameter apply: Writes the change. Returns what to do once it is on disk. May run again after a rollback.
    func add(_ apply: @escaping @Sendable (Tables) throws -> Acknowledgement) {
        add(Change(isTest: false, apply: apply) { _ in })
    }

    /// Writes a change durably. Resumes once it is on disk or has failed.
    func write<Value: Sendable>(
        isTest: Bool = false, _ body: @escaping @Sendable (Tables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        await withCheckedContinuation { continuation in
            let change = Change(isTest: isTest) { tables in
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
        database.asyncWriteWithoutTransaction { [self] database in
            let changes = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            if !changes.isEmpty { commit(changes, to: database) }
        }
    }

    /// Commits the changes in groups that are as large as possible.
    private func commit(_ changes: [Change], to database: Database) {
        groupsBegun.add(1, ordering: .sequentiallyConsistent)
        defer { groupsEnded.add(1, ordering: .sequentiallyConsistent) }
        var rest = changes[...]
        var groupSize = rest.count
        while !rest.isEmpty {
            switch Self.attempt(rest.prefix(groupSize), on: database) {
            case .committed(let acknowledgements):
                health.committed(isTest: rest.prefix(groupSize).allSatisfy(\.isTest))
                // Acknowledge after updating the health, because a resumed caller may read it.
                for acknowledge in acknowledgements { acknowledge() }
                rest = rest.dropFirst(groupSize)
                groupSize = rest.count
            case .rolledBack(_, .change(let index)) where index > 0:
                groupSize = index
            case .rolledBack(_, .commit) where groupSize > 1:
                groupSize /= 2
            case .rolledBack(let error, .change), .rolledBack(let error, .commit):
                health.recordWriteFailure(error)
                rest.removeFirst().fail(LedgerUnavailable(describing: error))
                groupSize = rest.count
            case .rolledBack(let error, .begin):
                health.recordWriteFailure(error)
                for change in rest { change.fail(LedgerUnavailable(describing: error)) }
                return
            }
        }
    }

    /// Writes all of the changes, or none.
    private static func attempt(_ changes: ArraySlice<Change>, on database: Database) -> Attempt {
        var fault = Fault.begin
        var written: [Acknowledgement] = []
        do {
            try database.inTransaction {
                for (index, change) in changes.enumerated() {
                    fault = .change(index)
                    written.append(try change.apply(Tables(database)))
                }
                fault = .commit
                return .commit
            }
        } catch {
            return .rolledBack(error, fault)
        }
        return .committed(written)
    }
}
