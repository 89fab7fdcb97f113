internal import GatewayCore
internal import GatewaySupport

extension NodeJournalVerification {
    /// The state of one node's journal in the store.
    struct Row {
        let node: String
        let host: String
        let chain: Int64
        let next: UInt64
        let hash: [UInt8]
        let first: UInt64
        let key: Ed25519.PublicKey?
        /// The number of the first line of the present chain, if lines of an earlier one are still stored.
        let restartedAtLine: UInt64?

        /// Returns the finding for a journal that started a new chain.
        func describeNewChain() -> String {
            let place = restartedAtLine.map {
                ": its chain restarts at line \($0), and the store has different lines from there in the chain before"
            }
            return "its journal was replaced, shortened or restored from an older copy" + (place ?? "")
        }
    }

    /// A line in the store.
    struct StoredLine {
        let number: UInt64
        let bytes: [UInt8]
    }

    /// The maximum number of lines of one page.
    private static let pageLength: Int64 = 2000

    /// Returns the number of lines of each node's present chain, by the random name of the installation.
    func sizes() throws(LedgerUnavailable) -> [String: UInt64] {
        try read { transaction in
            var sizes: [String: UInt64] = [:]
            try transaction.forEachRow(
                sql: "SELECT instance, GREATEST(next - GREATEST(first, 1), 0) AS lines FROM journal_copy", arguments: []
            ) { row in
                sizes[try row.required("instance")] = UInt64(max(0, try row.required("lines", as: Int64.self)))
            }
            return sizes
        }
    }

    /// Returns the state of a node's journal; nil if the store has none.
    func row(_ node: String) throws(LedgerUnavailable) -> Row? {
        try read { transaction in
            try transaction.firstRow(
                sql: """
                    SELECT copy.instance, COALESCE(node.host, copy.instance) AS host, copy.chain, next, hash, first, key,
                        CASE WHEN copy.chain > 0 AND EXISTS (
                            SELECT 1 FROM journal_line WHERE instance = copy.instance AND chain < copy.chain)
                        THEN COALESCE((
                            SELECT min(number) FROM journal_line
                            WHERE instance = copy.instance AND chain = copy.chain), 0) END AS restarted
                    FROM journal_copy AS copy LEFT JOIN node ON node.instance = copy.instance WHERE copy.instance = ?
                    """, arguments: [node]
            ).map { row in
                Row(
                    node: try row.required("instance"), host: try row.required("host"),
                    chain: try row.required("chain"), next: UInt64(max(0, try row.required("next", as: Int64.self))),
                    hash: try row.required("hash"), first: UInt64(max(0, try row.required("first", as: Int64.self))),
                    key: Ed25519.PublicKey(text: try row.required("key")),
                    restartedAtLine: try row.optional("restarted", as: Int64.self).map { UInt64(max(0, $0)) })
            }
        }
    }

    /// Returns whether a signed line of the journal records that retention has removed all lines before `first`.
    func isRemovalSigned(_ row: Row, by keys: [Ed25519.PublicKey]) throws(LedgerUnavailable) -> Bool {
        let lines = try read { transaction in
            try transaction.rows(
                sql: """
                    SELECT line FROM journal_line WHERE instance = ? AND chain = ? AND kind = 'retired'
                    ORDER BY number DESC LIMIT 100
                    """, arguments: [row.node, row.chain]
            ).map { Array(try $0.required("line", as: String.self).utf8) }
        }
        return lines.contains { bytes in
            let line = JournalLineReader(bytes: bytes[...])
            guard line.verifiedHash != nil, let signed = line.statement, signed.statement.kind == .retired else {
                return false
            }
            return signed.statement.through + 1 >= row.first && signed.isValid(under: keys)
        }
    }

    /// Returns the hashes of the lines with the numbers, as far as they are stored; nil for a line without one.
    func hashes(
        _ numbers: [Int64], of node: String, chain: Int64
    ) throws(LedgerUnavailable) -> [UInt64: SHA256.Digest?] {
        try read { transaction in
            var found: [UInt64: SHA256.Digest?] = [:]
            try transaction.forEachRow(
                sql: """
                    SELECT number, line FROM journal_line
                    WHERE instance = ? AND chain = ? AND number = ANY (?::text::bigint[])
                    """,
                arguments: [node, chain, ArrayLiteral.integers(numbers)]
            ) { row in
                let line = JournalLineReader(bytes: Array(try row.required("line", as: String.self).utf8)[...])
                // The stored hash proves nothing: the line's bytes must have it.
                found[UInt64(max(0, try row.required("number", as: Int64.self)))] = .some(line.verifiedHash)
            }
            return found
        }
    }

    /// Returns a page of the lines of the present chain, in order.
    func lines(of row: Row, from number: UInt64) throws(LedgerUnavailable) -> [StoredLine] {
        try read { transaction in
            try transaction.rows(
                sql: """
                    SELECT number, line FROM journal_line
                    WHERE instance = ? AND chain = ? AND number >= ? ORDER BY number LIMIT ?
                    """,
                arguments: [row.node, row.chain, Int64(clamping: number), Self.pageLength]
            ).map { row in
                StoredLine(
                    number: UInt64(max(0, try row.required("number", as: Int64.self))),
                    bytes: Array(try row.required("line", as: String.self).utf8))
            }
        }
    }

    private func read<Value: Sendable>(
        _ body: @Sendable (any SQLTransaction) throws -> Value
    ) throws(LedgerUnavailable) -> Value {
        do {
            return try database.read { try body($0) }
        } catch {
            throw LedgerUnavailable(PostgreSQLDatabase.text(for: error))
        }
    }
}
