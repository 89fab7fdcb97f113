internal import GatewayCore
internal import Synchronization

/// The commits of this gateway that the server has acknowledged, counted for each of its connections that write.
///
/// Each transaction stores its number in the table `node_commit`. A server that has a smaller number than an acknowledged
/// one is a standby that was promoted without the last commits of its primary, or an older copy of the database.
///
/// Safe to use from any thread.
final class AcknowledgedCommits: Sendable {
    /// The names of the connections that write.
    static let lanes = ["ledger", "keyed-sends", "texts"]

    private struct Lane {
        /// The number of the last commit that the server has acknowledged.
        var acknowledged: Int64 = 0
        /// The number of the last transaction that began.
        var begun: Int64 = 0
    }

    private let state = Mutex<[String: Lane]>([:])

    /// Sets the numbers of a node that joins to 0, in its transaction.
    static func reset(_ transaction: some SQLTransaction, of instance: String) throws {
        for lane in lanes {
            try transaction.execute(
                sql: """
                    INSERT INTO node_commit (instance, lane, number) VALUES (?, ?, 0)
                    ON CONFLICT (instance, lane) DO UPDATE SET number = 0
                    """,
                arguments: [instance, lane])
        }
    }

    /// Returns the number of a transaction that begins, and the smallest one that the server may have.
    func begin(_ lane: String) -> (number: Int64, acknowledged: Int64) {
        state.withLock { state in
            var counts = state[lane, default: Lane()]
            counts.begun += 1
            state[lane] = counts
            return (counts.begun, counts.acknowledged)
        }
    }

    /// Records that the server has acknowledged the commit of the transaction.
    func acknowledge(_ lane: String, _ number: Int64) { state.withLock { $0[lane]?.acknowledged = number } }

    /// The acknowledged numbers so far.
    var acknowledged: [String: Int64] { state.withLock { $0.mapValues(\.acknowledged) } }

    /// Returns whether the server has all commits that were acknowledged before the transaction began.
    static func has(
        _ acknowledged: [String: Int64], of instance: String, _ transaction: some SQLTransaction
    ) throws -> Bool {
        var stored: [String: Int64] = [:]
        for row in try transaction.rows(
            sql: "SELECT lane, number FROM node_commit WHERE instance = ?", arguments: [instance])
        {
            stored[try row.required("lane", as: String.self)] = try row.required("number", as: Int64.self)
        }
        return acknowledged.allSatisfy { stored[$0.key, default: -1] >= $0.value }
    }
}
