internal import Dispatch
internal import GatewaySupport
internal import PostgreSQLClient

/// Executes single statements on a connection of their own. Those that arrive during a round trip share the next one, and
/// a transaction with the isolation `READ COMMITTED`.
///
/// Each statement must have the same effect if it is executed twice. A commit does not wait for the disk.
final class PostgreSQLStatementGroups: Sendable {
    /// A statement.
    struct Operation: Sendable {
        /// The place in its group, bytewise. Groups of all gateways lock rows in the same order.
        let order: [UInt8]
        let statement: PostgreSQLStatement
        /// Receives the number of changed rows, on the queue of the connection.
        let complete: @Sendable (Result<Int, any Error>) -> Void
    }

    /// The most statements of one transaction.
    private static let groupSize = 500

    private let session: PostgreSQLSession
    private let collector = BatchCollector<Operation>()

    /// Creates the groups without a connection.
    ///
    /// - Parameter setUp: Statements for each new connection.
    init(_ settings: PostgreSQLSettings, label: String, clocks: Clocks, setUp: String) {
        session = PostgreSQLSession(settings, label: label, clocks: clocks, timeLimit: .init()) { connection in
            // Waiting for a lock delays the other statements of the group.
            try connection.simple(
                """
                SET synchronous_commit = off;
                SET default_transaction_isolation = 'read committed';
                SET lock_timeout = 100;
                SET enable_seqscan = off
                """)
            try connection.simple(setUp)
        }
    }

    /// Executes the statement after those that were added before. Does not wait.
    func add(_ operation: Operation) {
        guard collector.add(operation) else { return }
        session.queue.async { [self] in
            var next = [operation]
            while !next.isEmpty {
                run(next)
                next = collector.next() ?? []
            }
        }
    }

    /// Waits for the statements that were added before, and closes the connection. Later ones fail. Blocks.
    func close() { session.queue.sync { session.close() } }

    /// Returns whether a statement failed because of another transaction: a conflict, a deadlock, or a lock that was not
    /// free in time.
    static func isContention(_ error: any Error) -> Bool { (error as? PostgreSQLError)?.isContention == true }

    private func run(_ operations: [Operation]) {
        let sorted = operations.sorted { $0.order.lexicographicallyPrecedes($1.order) }
        for start in stride(from: 0, to: sorted.count, by: Self.groupSize) {
            let group = sorted[start..<min(start + Self.groupSize, sorted.count)]
            do {
                let counts = try execute(group)
                for (operation, count) in zip(group, counts) { operation.complete(.success(count)) }
            } catch  where Self.isContention(error) && group.count > 1 {
                // Only the statement that meets the other transaction fails.
                for operation in group { operation.complete(Result { try execute([operation])[0] }) }
            } catch {
                for operation in group { operation.complete(.failure(error)) }
            }
        }
    }

    /// Executes the statements in one transaction, once more if the connection was lost, as by a restart of the server.
    private func execute(_ operations: ArraySlice<Operation>) throws -> [Int] {
        let list = operations.map(\.statement)
        do {
            return try session.withConnection(nil) { try $0.pipeline(list) }
        } catch let lost as PostgreSQLError where lost.kind == .unavailable {
            do { return try session.withConnection(nil) { try $0.pipeline(list) } } catch
                where Self.isContention(error)
            {
                // It is unknown whether the first attempt took effect.
                throw lost
            }
        }
    }
}

extension PostgreSQLError {
    /// Whether another transaction was in the way: a conflict, a deadlock, or a lock that was not free in time.
    var isContention: Bool { kind == .conflict || sqlState == "55P03" }
}
