internal import GRDB
internal import GatewayCore

/// Commits together what asks to be written while a commit is under way: a synchronisation of the disk costs more than all
/// changes that could be in it.
///
/// Each change is still written whole or not at all, on its own: where one of several fails, none of them is kept, and then each
/// is tried in a transaction of its own.
final class GroupCommit: Sendable {
    typealias Acknowledgement = @Sendable () -> Void

    struct Change: Sendable {
        /// Writes it, inside a transaction, and gives what tells its caller of it once that is on disk. May run twice, the
        /// first time undone.
        let apply: @Sendable (LedgerTables) throws -> Acknowledgement
        let fail: @Sendable (LedgerUnavailable) -> Void
    }

    private let database: DatabasePool
    let gathering = Gathering<Change>()

    init(_ database: DatabasePool) { self.database = database }

    /// Writes a change durably.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        await withCheckedContinuation { continuation in
            let change = Change { tables in
                let value = try body(tables)
                return { continuation.resume(returning: .success(value)) }
            } fail: {
                continuation.resume(returning: .failure($0))
            }
            if gathering.add(change) { commit([change]) }
        }
    }

    private func commit(_ changes: [Change]) {
        database.asyncWriteWithoutTransaction { [self] database in
            do {
                try Self.commit(changes, to: database)
            } catch  where changes.count == 1 {
                changes[0].fail(LedgerUnavailable(describing: error))
            } catch {
                for change in changes {
                    do { try Self.commit([change], to: database) } catch {
                        change.fail(LedgerUnavailable(describing: error))
                    }
                }
            }
            if let more = gathering.next() { commit(more) }
        }
    }

    /// Writes all of them and tells their callers, or throws and has written none.
    private static func commit(_ changes: [Change], to database: Database) throws {
        var written: [Acknowledgement] = []
        try database.inTransaction {
            for change in changes { written.append(try change.apply(LedgerTables(database))) }
            return .commit
        }
        for acknowledge in written { acknowledge() }
    }
}
