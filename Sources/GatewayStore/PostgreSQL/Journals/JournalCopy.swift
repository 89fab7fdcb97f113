internal import Dispatch
package import GatewayCore
package import GatewaySupport
package import Logging
internal import PostgreSQLClient
internal import Synchronization

/// The copy of this node's journal in a store in PostgreSQL, for queries and verifications at other nodes.
///
/// Lines are added in order, in one transaction with the place after them. A journal that turns out to be another one, as
/// after its deletion or the restore of an older copy, begins a new chain; the lines of the chain before stay.
///
/// Has a connection of its own. One task at a time uses it.
package final class JournalCopy: Sendable {
    /// The place after the lines in the store.
    private struct End {
        var chain: Int64
        var next: UInt64
        /// The hash of the last line: 64 hexadecimal digits.
        var hash: String
    }

    /// The minimum time limit of a statement: a batch of lines takes longer than other statements.
    private static let statementTimeout = Duration.seconds(30)
    let session: PostgreSQLSession
    let node: StoreNode
    private let key: Ed25519.PublicKey
    private let logger: Logger
    /// Whether the sink reads the journal again from its oldest line, to find the first one that differs from the copy.
    private let isComparing = Atomic(false)

    /// Creates a value without a connection.
    ///
    /// - Parameter key: The public key of the journal's signatures.
    package init(_ store: PostgreSQLStore, key: Ed25519.PublicKey, logger: Logger) {
        var settings = store.settings.connection
        settings.applicationName = "notify-gateway journal"
        settings.statementTimeout = max(settings.statementTimeout, Self.statementTimeout)
        node = store.node
        session = PostgreSQLSession(
            settings, label: "journal-copy", clocks: store.node.clocks, timeLimit: PostgreSQLSession.Failure()
        ) { _ in }
        self.key = key
        self.logger = logger
    }

    /// Returns the number of the first line that has to be given next; 0 for the oldest one.
    package func position() async throws(LedgerUnavailable) -> UInt64 {
        if isComparing.load(ordering: .relaxed) { return 0 }
        return try await run { [self] connection in try end(connection)?.next ?? 0 }
    }

    /// Adds lines, each with its line feed, in the order of their numbers. Lines that the store already has are compared.
    /// Returns once they are committed.
    ///
    /// - Parameter start: The number of the line from which the journal was read. Lines between it and the first given one
    ///   are missing in the journal.
    /// - Returns: The reason why the lines must be given again from ``position()`` on; nil if they were added.
    package func add(_ lines: [UInt8], readFrom start: UInt64) async throws(LedgerUnavailable) -> String? {
        try await run { [self] connection in
            let lines = CopiedLines(lines)
            try connection.simple("BEGIN; SET LOCAL synchronous_commit = on")
            do {
                let result = try add(lines, readFrom: start, connection)
                try connection.commit()
                return result
            } catch {
                if connection.isUsable { try? connection.simple("ROLLBACK") }
                throw error
            }
        }
    }

    private func add(
        _ lines: CopiedLines, readFrom start: UInt64, _ connection: PostgreSQLConnection
    ) throws -> String? {
        try checkFence(connection)
        // Locks the row until the end of the transaction.
        try connection.execute(
            """
            INSERT INTO journal_copy (instance, chain, next, hash, first, key)
            VALUES (?, 0, 0, decode(?, 'hex'), 0, ?) ON CONFLICT (instance) DO UPDATE SET key = excluded.key
            """, [.text(node.instance), .text(CopiedLines.noHash), .text(key.text)])
        guard var end = try end(connection) else { return nil }
        // As after a failover to a server that lacks the last lines.
        if start > max(1, end.next) {
            return "the store has no lines from \(end.next) on any more; they are copied again"
        }
        let known = lines.all.prefix { $0.number < end.next }
        var added = lines.all[known.count...]
        if let difference = try firstDifference(in: known, of: lines, from: end, connection) {
            startChain(&end, at: lines.all[difference].number)
            added = lines.all[difference...]
        } else if let first = added.first, first.number == end.next, end.next > 0, lines.previous(of: first) != end.hash
        {
            guard isComparing.exchange(true, ordering: .relaxed) else {
                return "line \(first.number) does not continue the copy in the store; all lines are compared with it"
            }
            startChain(&end, at: first.number)
        }
        guard let last = added.last else { return nil }
        isComparing.store(false, ordering: .relaxed)
        let (instance, chain) = (node.instance, end.chain)
        try connection.copyIn(
            "COPY journal_line (\(CopiedLines.columns)) FROM STDIN",
            lines.rows(added, instance: instance, chain: chain))
        // Only signed lines of the journal itself say that retention has removed others.
        let first = lines.retiredThrough(in: added, signedBy: key).map { $0 + 1 } ?? 0
        try connection.execute(
            """
            UPDATE journal_copy SET chain = ?, next = ?, hash = decode(?, 'hex'),
                first = CASE WHEN chain = ? THEN GREATEST(first, ?) ELSE ? END
            WHERE instance = ?
            """,
            [
                .integer(chain), .integer(Int64(last.number) + 1), .text(lines.hash(of: last)), .integer(chain),
                .integer(Int64(clamping: first)), .integer(Int64(clamping: first)), .text(instance),
            ])
        return nil
    }

    /// Throws if another process has joined the store as this installation. Locks no row of `node`, because adding lines
    /// must not delay a sign of life.
    private func checkFence(_ connection: PostgreSQLConnection) throws {
        let count = try connection.execute(
            "SELECT 1 FROM node WHERE instance = ? AND fence = ?", [.text(node.instance), .integer(node.fenceNumber)])
        if count == 0 { throw StoreNode.Lost.place }
    }

    private func startChain(_ end: inout End, at number: UInt64) {
        logger.error(
            "Journal differs from its copy in the store, as after its deletion or the restore of an older copy",
            metadata: ["first": "\(number)", "copied": "\(end.next)", "chain": "\(end.chain.addingSaturating(1))"])
        end = End(chain: end.chain.addingSaturating(1), next: number, hash: CopiedLines.noHash)
    }

    /// Returns the index of the first line that differs from the one in the store; nil if none does. Lines that the store
    /// does not have are not compared.
    private func firstDifference(
        in known: ArraySlice<CopiedLines.Line>, of lines: CopiedLines, from end: End, _ connection: PostgreSQLConnection
    ) throws -> Int? {
        guard let first = known.first, let last = known.last else { return nil }
        // Lines are equal if a later line is equal: its hash covers them.
        if try hashes(last.number...last.number, of: end.chain, connection)[last.number] == lines.hash(of: last) {
            return nil
        }
        let stored = try hashes(first.number...last.number, of: end.chain, connection)
        return known.firstIndex { line in stored[line.number].map { $0 != lines.hash(of: line) } ?? false }
    }

    private func hashes(
        _ numbers: ClosedRange<UInt64>, of chain: Int64, _ connection: PostgreSQLConnection
    ) throws -> [UInt64: String] {
        var found: [UInt64: String] = [:]
        try connection.forEachRow(
            """
            SELECT number, substring(line FROM '"hash":"([0-9a-f]{64})"\\}$') FROM journal_line
            WHERE instance = ? AND chain = ? AND number BETWEEN ? AND ?
            """,
            [
                .text(node.instance), .integer(chain), .integer(Int64(numbers.lowerBound)),
                .integer(Int64(numbers.upperBound)),
            ]
        ) { _, values in
            guard case .integer(let stated) = values[0], let number = LineNumber(row: stated) else { return }
            if case .text(let hash) = values[1] { found[number.value] = hash } else { found[number.value] = "" }
        }
        return found
    }

    private func end(_ connection: PostgreSQLConnection) throws -> End? {
        var found: End?
        try connection.forEachRow(
            "SELECT chain, next, encode(hash, 'hex') FROM journal_copy WHERE instance = ?", [.text(node.instance)]
        ) { _, values in
            guard case .integer(let chain) = values[0], case .integer(let next) = values[1],
                case .text(let hash) = values[2]
            else { return }
            found = End(chain: chain, next: UInt64(max(0, next)), hash: hash)
        }
        return found
    }

    /// Closes the connection; later calls fail. Blocks.
    package func close() { session.queue.sync { session.close() } }

    func run<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
    ) async throws(LedgerUnavailable) -> Value {
        try await session.perform(nil, body)
    }
}
