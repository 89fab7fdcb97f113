internal import GRDB
internal import GatewayCore

/// Reads in one transaction what is asked for while another is under way: to begin one, and the way to a thread and back, cost
/// more than what a call asks.
///
/// A transaction begins after everything that it answers was asked for, so whoever asks sees all that was on disk by then.
final class GroupRead: Sendable {
    typealias Question = @Sendable (Result<LedgerTables, any Error>) -> Void

    private let database: DatabasePool
    private let health: LedgerHealth
    let gathering = Gathering<Question>()

    init(_ database: DatabasePool, health: LedgerHealth) {
        self.database = database
        self.health = health
    }

    /// Reads one state of the ledger.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (LedgerTables) throws -> Value
    ) async -> Result<Value, LedgerUnavailable> {
        await withCheckedContinuation { continuation in
            let question: Question = { [health] tables in
                let result = Result { try body(tables.get()) }
                if case .failure(let error) = result { health.noteRead(error) }
                continuation.resume(returning: result.mapError(LedgerUnavailable.init(describing:)))
            }
            if gathering.add(question) { answer([question]) }
        }
    }

    /// The tables in the one state that all questions are asked about.
    private static func tables(_ database: Database) throws -> LedgerTables {
        // SQLite ends the transaction by itself where it cannot read; what is read after that is of another.
        guard database.isInsideTransaction else { throw LedgerUnavailable("the ledger could not be read") }
        return LedgerTables(database)
    }

    private func answer(_ questions: [Question]) {
        database.asyncRead { [self] access in
            for question in questions { question(Result { try Self.tables(access.get()) }) }
            if let more = gathering.next() { answer(more) }
        }
    }
}
