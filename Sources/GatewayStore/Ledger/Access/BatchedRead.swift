internal import GRDB
internal import GatewayCore

/// Runs reads that arrive during another read in one transaction. Starting a transaction and switching threads costs
/// more than the queries of a call.
///
/// A transaction starts after all of its reads were requested, so each sees everything that was on disk at its request.
final class BatchedRead: Sendable {
    typealias Query = @Sendable (Result<LedgerTables, any Error>) -> Void

    private let database: DatabasePool
    private let health: LedgerHealth
    let collector = BatchCollector<Query>()

    init(_ database: DatabasePool, health: LedgerHealth) {
        self.database = database
        self.health = health
    }

    /// Runs the body on one state of the ledger.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        await withCheckedContinuation { continuation in
            let query: Query = { [health] tables in
                let result = Result { try body(tables.get()) }
                if case .failure(let error) = result { health.noteRead(error) }
                continuation.resume(returning: result.mapError(LedgerUnavailable.init(describing:)))
            }
            if collector.add(query) { run([query]) }
        }
    }

    /// Returns the tables in the state that all queries of the batch read.
    private static func tables(_ database: Database) throws -> LedgerTables {
        // SQLite closes the transaction by itself on a read error. Later reads would see another state.
        guard database.isInsideTransaction else { throw LedgerUnavailable("the ledger cannot be read") }
        return LedgerTables(database)
    }

    private func run(_ queries: [Query]) {
        database.asyncRead { [self] access in
            for query in queries { query(Result { try Self.tables(access.get()) }) }
            if let more = collector.next() { run(more) }
        }
    }
}
