package import GatewayCore
package import GatewaySupport
internal import PostgreSQLClient

/// The journals of the other nodes, and the removal of old lines.
extension JournalCopy {
    /// The maximum number of nodes whose journals are recorded.
    private static let maximumHeads = 200
    /// The maximum length of a node's random name and of its public key.
    private static let (maximumInstanceLength, maximumKeyLength) = (16, 64)
    /// How long after its last sign of life a node's journal is recorded, in microseconds: a day, so that a gateway that
    /// starts later does not record journals of gateways that are long gone again.
    private static let recordedFor: Int64 = 86_400_000_000
    /// How much longer than the journal keeps them, in microseconds, the lines of a gateway that is gone and of an earlier
    /// chain are kept: two days, longer than `recordedFor`.
    private static let goneFor: Int64 = 172_800_000_000
    /// The number of lines that one statement removes.
    private static let removedAtOnce: Int64 = 20_000
    /// The maximum number of such statements at a time, so that adding lines does not wait for long.
    private static let maximumRemovals = 10

    /// Returns the heads of the other nodes' journals in the store, ordered by host.
    package func otherHeads() async throws(LedgerUnavailable) -> [NodeHead] {
        try await run { [node] connection in
            var heads: [NodeHead] = []
            try connection.forEachRow(
                """
                SELECT copy.instance, left(host, 64), chain, next, encode(hash, 'hex'), key
                FROM journal_copy AS copy JOIN node ON node.instance = copy.instance
                WHERE copy.instance <> ? AND next > 0 AND until > \(StoreNode.now) - ?
                    AND length(copy.instance) <= ? AND length(key) <= ?
                ORDER BY host, copy.instance LIMIT ?
                """,
                [
                    .text(node.instance), .integer(Self.recordedFor), .integer(Int64(Self.maximumInstanceLength)),
                    .integer(Int64(Self.maximumKeyLength)), .integer(Int64(Self.maximumHeads)),
                ]
            ) { _, values in
                guard case .text(let instance) = values[0], case .text(let host) = values[1],
                    case .integer(let chain) = values[2], case .integer(let next) = values[3], next > 0,
                    case .text(let hash) = values[4], case .text(let key) = values[5]
                else { return }
                heads.append(
                    NodeHead(
                        node: instance, host: host, chain: chain, through: UInt64(next) - 1, hash: hash,
                        keyID: Ed25519.PublicKey(text: key)?.journalID ?? ""))
            }
            return heads
        }
    }

    /// Removes expired lines from the store: of this node those before `journal_copy.first`; of nodes that are gone all lines,
    /// and the lines of earlier chains, once the newest of them is two days older than the journal keeps lines.
    ///
    /// - Parameters:
    ///   - keep: How long the journal keeps lines.
    ///   - now: The local time. The earlier of it and the database's clock counts.
    package func removeExpired(keep: Duration, now: WallTime) async throws(LedgerUnavailable) {
        try await run { [node] connection in
            let instance = PostgreSQLValue.text(node.instance)
            try Self.remove {
                try connection.execute(
                    """
                    DELETE FROM journal_line USING journal_copy AS copy
                    WHERE copy.instance = ? AND journal_line.instance = ? AND journal_line.chain = copy.chain
                        AND number < copy.first AND number < \(Self.removedAtOnce) + (
                            SELECT min(number) FROM journal_line AS oldest
                            WHERE oldest.instance = ? AND oldest.chain = (
                                SELECT chain FROM journal_copy WHERE instance = ?))
                    """, [instance, instance, instance, instance])
            }
            for chain in try Self.expiredChains(connection, keep: keep, now: now) {
                let place: [PostgreSQLValue] = [.text(chain.instance), .integer(chain.number)]
                try Self.remove {
                    try connection.execute(
                        """
                        DELETE FROM journal_line WHERE instance = ? AND chain = ? AND number < \(Self.removedAtOnce) + (
                            SELECT min(number) FROM journal_line WHERE instance = ? AND chain = ?)
                        """, place + place)
                }
                // A journal without lines of a gateway that is gone is of no use to anybody.
                try connection.execute(
                    """
                    DELETE FROM journal_copy WHERE instance = ? AND chain = ? AND instance <> ? AND NOT EXISTS (
                        SELECT 1 FROM journal_line WHERE journal_line.instance = journal_copy.instance)
                    """, place + [instance])
            }
        }
    }

    /// Returns the chains that are not of a live node's present journal and whose newest line has expired.
    private static func expiredChains(
        _ connection: PostgreSQLConnection, keep: Duration, now: WallTime
    ) throws -> [(instance: String, number: Int64)] {
        var found: [(instance: String, number: Int64)] = []
        try connection.forEachRow(
            """
            SELECT chains.instance, chains.chain
            FROM (SELECT instance, generate_series(0, LEAST(chain, 1000)) AS chain FROM journal_copy) AS chains
            JOIN journal_copy AS copy ON copy.instance = chains.instance
            CROSS JOIN LATERAL (
                SELECT at FROM journal_line AS line WHERE line.instance = chains.instance AND line.chain = chains.chain
                ORDER BY number DESC LIMIT 1) AS newest
            WHERE newest.at < LEAST(?, \(StoreNode.now)) - ? AND (chains.chain < copy.chain OR NOT EXISTS (
                SELECT 1 FROM node WHERE node.instance = chains.instance AND until > \(StoreNode.now)))
            LIMIT 100
            """, [.integer(now.microseconds), .integer(Int64(keep / .microseconds(1)) + goneFor)]
        ) { _, values in
            guard case .text(let instance) = values[0], case .integer(let number) = values[1] else { return }
            found.append((instance, number))
        }
        return found
    }

    /// Repeats a removal until nothing is left to remove, up to a bound.
    private static func remove(_ statement: () throws -> Int) throws {
        for _ in 0..<maximumRemovals {
            if try statement() == 0 { return }
        }
    }
}
