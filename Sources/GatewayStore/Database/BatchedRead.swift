internal import GatewayCore
internal import Synchronization

/// Runs reads that arrive during another read in one transaction. Starting a transaction and switching threads costs
/// more than the queries of a call.
///
/// A transaction starts after all of its reads were requested, so each sees everything that was on disk at its request.
final class BatchedRead<Tables: DatabaseTables>: Sendable {
    typealias Query = @Sendable (Result<Tables, any Error>) -> Void

    private let database: any SQLDatabase
    private let health: LedgerHealth
    let collector = BatchCollector<Query>()

    init(_ database: any SQLDatabase, health: LedgerHealth) {
        self.database = database
        self.health = health
    }

    /// Runs the body on one state of the ledger.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Tables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        await withCheckedContinuation { continuation in
            let query: Query = { [database, health] tables in
                let result = Result { try body(tables.get()) }
                if case .failure(let error) = result { health.recordReadFailure(error) }
                continuation.resume(returning: result.mapError(database.unavailable))
            }
            if collector.add(query) { run([query]) }
        }
    }

    private func run(_ queries: [Query]) {
        database.enqueueRead { [self] access in
            for query in queries { query(access.map { Tables($0) }) }
            if let more = collector.next() { run(more) }
        }
    }
}

/// Collects work that arrives while earlier work runs, so that it can be processed as one batch.
final class BatchCollector<Work: Sendable>: Sendable {
    /// The collected work; nil while no work runs.
    private let collected = Mutex<[Work]?>(nil)

    /// The number of collected items. For tests.
    var count: Int { collected.withLock { $0?.count ?? 0 } }

    /// Adds an item.
    ///
    /// - Returns: Whether no work runs. The caller then processes the item itself, and calls `next()` until it returns
    ///   nil.
    func add(_ work: Work) -> Bool {
        collected.withLock { collected in
            if collected == nil {
                collected = []
                return true
            }
            collected?.append(work)
            return false
        }
    }

    /// Returns the collected work for the caller to process; nil if there is none, which also marks the work as
    /// finished.
    func next() -> [Work]? {
        collected.withLock { collected in
            let next = collected ?? []
            collected = next.isEmpty ? nil : []
            return next.isEmpty ? nil : next
        }
    }
}
