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
        let number: LineNumber
        let bytes: [UInt8]
    }

    /// Successive lines in the store.
    struct Page {
        var lines: [StoredLine] = []
        /// The fault of the row after them, which the gateway did not write; nil if nothing is.
        var finding: String?
    }

    /// The maximum number of lines of one page.
    private static let pageLength: Int64 = 2000

    /// Returns the number of lines of each node's present chain, by the random name of the installation.
    func sizes() throws(LedgerUnavailable) -> [String: UInt64] {
        try read { transaction in
            var sizes: [String: UInt64] = [:]
            try transaction.forEachRow(
                sql: "SELECT instance, GREATEST(next, 0) AS next, GREATEST(first, 1) AS first FROM journal_copy",
                arguments: []
            ) { row in
                let (next, first) = (
                    try row.required("next", as: Int64.self), try row.required("first", as: Int64.self)
                )
                sizes[try row.required("instance")] = UInt64(max(0, next.subtractingSaturating(first)))
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
            guard let through = JournalLineReader(bytes: bytes[...]).retiredThrough(signedBy: keys) else {
                return false
            }
            return through + 1 >= row.first
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
                guard let number = LineNumber(row: try row.required("number", as: Int64.self)) else { return }
                found[number.value] = .some(line.verifiedHash)
            }
            return found
        }
    }

    /// Returns a page of the stored lines of the present chain, in order, up to its end.
    /// The columns, which decide what queries find, must repeat the line.
    func lines(of row: Row, from number: UInt64) throws(LedgerUnavailable) -> Page {
        let rows = try read { transaction in
            try transaction.rows(
                sql: """
                    SELECT number, at, kind, "user", recipient, action, result, call, count, ms, line FROM journal_line
                    WHERE instance = ? AND chain = ? AND number >= ? AND number < ? ORDER BY number LIMIT ?
                    """,
                arguments: [row.node, row.chain, Int64(clamping: number), Int64(clamping: row.next), Self.pageLength])
        }
        var page = Page()
        var times = LineTimestampReader()
        for row in rows {
            let number = try row.required("number", as: Int64.self)
            let bytes = Array(try row.required("line", as: String.self).utf8)
            let expected = CopiedColumns(bytes, &times)
            let isAtItsPlace = expected?.number.value == UInt64(exactly: number)
            // The chain may show what is wrong with the line.
            if isAtItsPlace, let expected { page.lines.append(StoredLine(number: expected.number, bytes: bytes)) }
            guard isAtItsPlace, let expected, try expected == CopiedColumns(row, expected.number) else {
                page.finding = "the columns of its line \(number) in the store do not repeat the line"
                return page
            }
        }
        return page
    }

    /// Returns what is wrong with the rows of a gateway that are outside of its journal; nil if there are none.
    ///
    /// One statement reads lines and end, since the gateway may copy lines meanwhile.
    func strayRows(of node: String) throws(LedgerUnavailable) -> String? {
        let found = try read { transaction in
            try transaction.firstRow(
                sql: """
                    SELECT line.chain, line.number FROM journal_line AS line
                    JOIN journal_copy AS copy ON copy.instance = line.instance
                    WHERE line.instance = ? AND (line.chain < 0 OR line.number < 1 OR line.chain > copy.chain
                        OR (line.chain = copy.chain AND line.number >= copy.next))
                    ORDER BY line.chain, line.number LIMIT 1
                    """, arguments: [node]
            ).map { (try $0.required("chain", as: Int64.self), try $0.required("number", as: Int64.self)) }
        }
        guard let (chain, number) = found else { return nil }
        return "the store has a line \(number) of chain \(chain), which is not in its journal"
    }

    /// Returns the installations of which the store has lines but no journal.
    func unknownInstances() throws(LedgerUnavailable) -> [String] {
        try read { transaction in
            try transaction.rows(
                sql: """
                    SELECT DISTINCT instance FROM journal_line AS line WHERE NOT EXISTS (
                        SELECT 1 FROM journal_copy AS copy WHERE copy.instance = line.instance)
                    ORDER BY instance LIMIT 100
                    """, arguments: []
            ).map { try $0.required("instance") }
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
