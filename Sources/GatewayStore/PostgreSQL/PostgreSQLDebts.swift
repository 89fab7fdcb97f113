internal import Dispatch
package import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient

/// The debts of limits and login throttles that nodes share, in a store in PostgreSQL, with a connection of their own.
///
/// Nothing here is needed for a call: while the server is away, the calls fail, and each node decides by itself. One task
/// at a time uses it.
package final class PostgreSQLDebts: Sendable {
    /// The changes of other nodes, and the number of nodes.
    package struct Updates: Sendable {
        /// The changes, in their order.
        package var changes: [DebtChange] = []
        /// The number of the last change.
        package var last: Int64
        /// The number of live nodes, at least 1.
        package var nodes = 1

        /// Whether there may be further changes.
        package var isPartial: Bool { changes.count >= PostgreSQLDebts.changesAtOnce }
    }

    /// The maximum number of keys in one statement.
    package static let keysAtOnce = 1000
    /// The maximum number of changes that are read at once.
    package static let changesAtOnce = 1000
    /// The time for which removals are kept for nodes that are cut off. A node that was cut off for longer forgets its state.
    package static let removalLifetime = Duration.seconds(86_400)

    private let session: PostgreSQLSession

    /// Creates a value without a connection.
    package init(_ store: PostgreSQLStore) {
        var settings = store.settings.connection
        settings.applicationName = "notify-gateway limits"
        session = PostgreSQLSession(
            settings, label: "limits", clocks: store.node.clocks, timeLimit: PostgreSQLSession.Failure()
        ) { _ in }
    }

    /// Returns the key of the digests that all nodes have. The first node creates it. Blocks; called at startup.
    package static func digestKey(in store: PostgreSQLStore, length: Int) throws(LedgerUnavailable) -> [UInt8] {
        do {
            return try store.postgreSQL.writeUnchecked("READ COMMITTED") { transaction in
                try transaction.execute(
                    sql: "INSERT INTO property (name, value) VALUES ('debt-key', ?) ON CONFLICT (name) DO NOTHING",
                    arguments: [RandomBytes.make(length)])
                let row = try transaction.firstRow(sql: "SELECT value FROM property WHERE name = 'debt-key'")
                guard let key = try row?.required("value", as: [UInt8].self), key.count == length else {
                    throw LedgerUnavailable("the key of shared limits in the store has another length")
                }
                return key
            }
        } catch {
            throw store.postgreSQL.unavailable(error)
        }
    }

    /// Adds debts to the rows of their keys.
    ///
    /// - Parameter debts: At most `keysAtOnce`, in the order of the keys, so that nodes lock rows in the same order.
    /// - Returns: The total debt of each key.
    package func add(_ debts: [AddedDebt]) async throws(LedgerUnavailable) -> [TotalDebt] {
        guard !debts.isEmpty else { return [] }
        return try await run { connection in
            var totals: [TotalDebt] = []
            totals.reserveCapacity(debts.count)
            let arguments: [PostgreSQLValue] = [
                .text(ArrayLiteral.bytes(debts.map(\.key.bytes))), .text(ArrayLiteral.integers(debts.map(\.added))),
                .text(ArrayLiteral.integers(debts.map(\.maximum))),
            ]
            try connection.forEachRow(Self.addition, arguments) { _, values in
                guard case .bytes(let bytes) = values[0], case .integer(let debt) = values[1],
                    let key = DebtKey(bytes: bytes)
                else { return }
                totals.append(TotalDebt(key: key, debt: debt))
            }
            return totals
        }
    }

    /// Stores changes for all nodes, and removes the rows that they concern.
    package func announce(_ changes: [DebtChange]) async throws(LedgerUnavailable) {
        guard !changes.isEmpty else { return }
        try await run { connection in
            // The lock makes the numbers grow in the order of the commits: a node that has read a number has read all
            // below it.
            try connection.simple(
                "BEGIN; SET LOCAL synchronous_commit = on; LOCK TABLE debt_change IN SHARE ROW EXCLUSIVE MODE")
            do {
                for change in changes { try Self.announce(change, connection) }
                try connection.commit()
            } catch {
                if connection.isUsable { try? connection.simple("ROLLBACK") }
                throw error
            }
        }
    }

    private static func announce(_ change: DebtChange, _ connection: PostgreSQLConnection) throws {
        switch change.kind {
        case .knownLogin: break
        case .knownLoginsRemoved:
            if let user = change.pattern.caller {
                try connection.execute(
                    "DELETE FROM debt_change WHERE kind = 'known-login' AND substring(pattern FROM 2 FOR 8) = ?",
                    [.bytes(bigEndian(user))])
            } else {
                try connection.execute("DELETE FROM debt_change WHERE kind = 'known-login'")
            }
        case .debtsRemoved: try remove(change.pattern, connection)
        }
        try connection.execute(
            """
            INSERT INTO debt_change (at, kind, pattern) VALUES (\(StoreNode.now), ?, ?)
            ON CONFLICT (pattern) WHERE kind = 'known-login' DO UPDATE SET number = DEFAULT, at = excluded.at
            """,
            [.text(change.kind.rawValue), .bytes(change.pattern.bytes)])
    }

    /// Returns the changes after a number, those of this node included, and the number of live nodes.
    package func updates(after number: Int64) async throws(LedgerUnavailable) -> Updates {
        try await run { connection in
            var updates = Updates(last: number)
            let statements = [
                PostgreSQLStatement("SELECT count(*) FROM node WHERE until > \(StoreNode.now)"),
                PostgreSQLStatement(
                    """
                    SELECT number, kind, pattern, (\(StoreNode.now) - at) * 1000 FROM debt_change
                    WHERE number > ? ORDER BY number LIMIT \(Self.changesAtOnce)
                    """, [.integer(number)]),
            ]
            _ = try connection.pipeline(statements) { index, _, values in
                if index == 0, case .integer(let count) = values[0] { updates.nodes = max(1, Int(count)) }
                guard index == 1, case .integer(let number) = values[0], case .text(let word) = values[1],
                    case .bytes(let bytes) = values[2], case .integer(let age) = values[3]
                else { return }
                updates.last = number
                // Changes of a later version are of no use here.
                guard let kind = DebtChange.Kind(rawValue: word), let pattern = DebtPattern(bytes: bytes) else {
                    return
                }
                updates.changes.append(DebtChange(kind, pattern, age: max(0, age)))
            }
            return updates
        }
    }

    /// Removes the debts that match. The rows of whole limits are found by reading all of them.
    package func remove(_ pattern: DebtPattern) async throws(LedgerUnavailable) {
        try await run { connection in try Self.remove(pattern, connection) }
    }

    private static func remove(_ pattern: DebtPattern, _ connection: PostgreSQLConnection) throws {
        var conditions = ["TRUE"]
        var arguments: [PostgreSQLValue] = []
        if !pattern.limits.isEmpty {
            conditions.append("substring(key FROM 1 FOR 8) = ANY (?::text::bytea[])")
            arguments.append(.text(ArrayLiteral.bytes(pattern.limits.sorted().map(bigEndian))))
        }
        func require(_ place: String, _ bytes: [UInt8]?) {
            guard let bytes else { return }
            conditions.append("substring(key \(place)) = ?")
            arguments.append(.bytes(bytes))
        }
        require("FROM 9 FOR 8", pattern.caller.map(bigEndian))
        require("FROM 17 FOR 8", pattern.recipient.map(bigEndian))
        require("FROM 25 FOR 8", pattern.address.map(bigEndian))
        require("FROM 33 FOR 4", pattern.group.map(bigEndian))
        require("FROM 37 FOR 1", pattern.service.map(bigEndian))
        // The rows are locked in the order in which nodes add debts.
        try connection.execute(
            """
            DELETE FROM debt WHERE key = ANY (ARRAY(
                SELECT key FROM debt WHERE \(conditions.joined(separator: " AND ")) ORDER BY key FOR UPDATE))
            """, arguments)
    }

    /// Removes rows that have expired, in small steps.
    package func removeExpired() async throws(LedgerUnavailable) {
        try await run { connection in
            for statement in Self.expiries {
                // A bound, so that the exchange of debts does not wait for long. The rest is for the next time.
                for _ in 0..<10 {
                    if try connection.execute(statement) < Self.expiredAtOnce { break }
                }
            }
        }
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// Closes the connection; later calls fail. Blocks.
    package func close() { session.queue.sync { session.close() } }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
    ) async throws(LedgerUnavailable) -> Value {
        // The last moments may be lost with a crash of the server.
        try await session.perform("SET synchronous_commit = off", body)
    }
}
