package import GatewayCore
package import GatewaySupport
internal import PostgreSQLClient

// The journals of the other nodes, and the removal of old lines.
extension JournalCopy {
    /// The maximum number of nodes whose journals are recorded.
    private static let maximumHeads = 1000
    /// The number of lines that one statement removes.
    private static let removedAtOnce: Int64 = 20_000
    /// The maximum number of such statements at a time, so that adding lines does not wait for long.
    private static let maximumRemovals = 10

    /// Returns the present ends of the other nodes' journals in the store, ordered by host.
    package func otherHeads() async throws(LedgerUnavailable) -> [NodeHead] {
        try await run { [node] connection in
            var heads: [NodeHead] = []
            try connection.forEachRow(
                """
                SELECT journal_copy.instance, host, chain, next, encode(hash, 'hex'), key
                FROM journal_copy JOIN node ON node.instance = journal_copy.instance
                WHERE journal_copy.instance <> ? AND next > 0 ORDER BY host, journal_copy.instance LIMIT ?
                """, [.text(node.instance), .integer(Int64(Self.maximumHeads))]
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

    /// Removes the lines that retention has removed from this node's journal, and of nodes that are gone, and of earlier
    /// chains, the lines that are older than the journal keeps them.
    ///
    /// - Parameters:
    ///   - directory: The directory of the journal.
    ///   - keep: How long the journal keeps lines.
    ///   - now: The time. The database's clock counts if it is behind.
    package func removeOld(
        journal directory: String, keep: Duration, now: WallTime
    ) async throws(LedgerUnavailable) {
        try await run { [node] connection in
            let names = try SystemFileSystem().fileNames(in: directory).compactMap { JournalSegmentName($0) }
            guard let first = names.min()?.first else { return }
            let instance = PostgreSQLValue.text(node.instance)
            try connection.execute(
                "UPDATE journal_copy SET first = ? WHERE instance = ? AND first <> ?",
                [.integer(Int64(clamping: first)), instance, .integer(Int64(clamping: first))])
            try Self.remove {
                try connection.execute(
                    """
                    DELETE FROM journal_line WHERE instance = ? AND number < ?
                        AND chain = (SELECT chain FROM journal_copy WHERE instance = ?)
                        AND number < \(Self.removedAtOnce) + (
                            SELECT min(number) FROM journal_line
                            WHERE instance = ? AND chain = (SELECT chain FROM journal_copy WHERE instance = ?))
                    """, [instance, .integer(Int64(clamping: first)), instance, instance, instance])
            }
            try Self.remove {
                try connection.execute(
                    """
                    DELETE FROM journal_line WHERE ctid = ANY (ARRAY(
                        SELECT line.ctid FROM journal_line AS line
                        JOIN journal_copy ON journal_copy.instance = line.instance
                        WHERE at < LEAST(?, \(StoreNode.now)) - ? AND (line.chain < journal_copy.chain OR NOT EXISTS (
                            SELECT 1 FROM node WHERE node.instance = line.instance AND until > \(StoreNode.now)))
                        ORDER BY at LIMIT \(Self.removedAtOnce)))
                    """, [.integer(now.microseconds), .integer(Int64(keep / .microseconds(1)))])
            }
        }
    }

    /// Repeats a removal until nothing is left to remove, up to a bound.
    private static func remove(_ statement: () throws -> Int) throws {
        for _ in 0..<maximumRemovals {
            if try statement() == 0 { return }
        }
    }
}
