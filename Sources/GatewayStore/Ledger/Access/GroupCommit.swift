internal import GRDB
internal import GatewayCore
internal import Synchronization

/// Commits together what asks to be written while a commit is under way: a synchronisation of the disk costs more than all
/// changes that could be in it.
///
/// Each change is still written whole or not at all, on its own: where one of several fails, none of them is kept, and those that
/// did not fail are tried again without it.
final class GroupCommit: Sendable {
    private typealias Acknowledgement = @Sendable () -> Void

    private struct Change: Sendable {
        /// Whether it only shows that the ledger can be written.
        let isTest: Bool
        /// Writes it, inside a transaction, and gives what tells its caller of it once that is on disk. May run again after
        /// it was undone.
        let apply: @Sendable (LedgerTables) throws -> Acknowledgement
        let fail: @Sendable (LedgerUnavailable) -> Void
    }

    private enum Attempt {
        /// All of it is on disk, and these tell its callers.
        case committed([Acknowledgement])
        /// Nothing of it is kept.
        case undone(any Error, Fault)
    }

    private enum Fault {
        /// The change at this place.
        case change(Int)
        /// All could be written, and not committed.
        case commit
        /// There was no transaction.
        case beginning
    }

    private let database: DatabasePool
    private let health: LedgerHealth
    private let waiting = Mutex<[Change]>([])

    init(_ database: DatabasePool, health: LedgerHealth) {
        self.database = database
        self.health = health
    }

    /// How many changes wait for the database.
    var count: Int { waiting.withLock(\.count) }

    /// Writes a change durably.
    func write<Value: Sendable>(
        isTest: Bool = false, _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        await withCheckedContinuation { continuation in
            let change = Change(isTest: isTest) { tables in
                let value = try body(tables)
                return { continuation.resume(returning: .success(value)) }
            } fail: {
                continuation.resume(returning: .failure($0))
            }
            waiting.withLock { $0.append(change) }
            // Each change has a turn of its own, before that of whoever closes the database later: mostly one before it has
            // written it already.
            database.asyncWriteWithoutTransaction { [self] database in
                let changes = waiting.withLock { waiting in
                    defer { waiting = [] }
                    return waiting
                }
                commit(changes, to: database)
            }
        }
    }

    /// Commits as many at a time as go together.
    private func commit(_ changes: [Change], to database: Database) {
        var rest = changes[...]
        var together = rest.count
        while !rest.isEmpty {
            switch Self.attempt(rest.prefix(together), on: database) {
            case .committed(let acknowledgements):
                health.committed(isTest: rest.prefix(together).allSatisfy(\.isTest))
                // Not before: a caller that goes on may look at the ledger's health.
                for acknowledge in acknowledgements { acknowledge() }
                rest = rest.dropFirst(together)
                together = rest.count
            case .undone(_, .change(let place)) where place > 0:
                together = place
            case .undone(_, .commit) where together > 1:
                together /= 2
            case .undone(let error, .change), .undone(let error, .commit):
                health.noteWrite(error)
                rest.removeFirst().fail(LedgerUnavailable(describing: error))
                together = rest.count
            case .undone(let error, .beginning):
                health.noteWrite(error)
                for change in rest { change.fail(LedgerUnavailable(describing: error)) }
                return
            }
        }
    }

    /// Writes all of them, or none.
    private static func attempt(_ changes: ArraySlice<Change>, on database: Database) -> Attempt {
        var fault = Fault.beginning
        var written: [Acknowledgement] = []
        do {
            try database.inTransaction {
                for (place, change) in changes.enumerated() {
                    fault = .change(place)
                    written.append(try change.apply(LedgerTables(database)))
                }
                fault = .commit
                return .commit
            }
        } catch {
            return .undone(error, fault)
        }
        return .committed(written)
    }
}
