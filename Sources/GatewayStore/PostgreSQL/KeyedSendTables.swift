internal import GatewayCore
internal import GatewaySupport

/// The SQL statements on the table `keyed_send`. Valid only during the database access that created it.
struct KeyedSendTables: DatabaseTables {
    /// A call that makes a send, as its row names it.
    struct Call: Hashable {
        let send: KeyedSend
        let instance: String
        let fence: Int64
        /// The number of the call, which no other call of the node has at this fence.
        let number: Int64
    }

    /// The time by which sends expire: the database's, or the gateway's if that is earlier. A clock that jumps ahead lets no send
    /// go out twice.
    private static let expiryTime = "LEAST(\(StoreNode.now), ?)"

    /// A stored send.
    struct Stored {
        let message: [UInt8]
        let state: String
        let result: String?
        let response: [UInt8]?
        let number: Int64
        /// Whether the node of the call that looks it up registered it at its present fence.
        let isOwn: Bool
        /// Whether the node that registered it is live at that fence.
        let isLive: Bool
    }

    /// The time for which a send is kept, in microseconds.
    static let period: Int64 = 24 * 3600 * 1_000_000

    private let transaction: any SQLTransaction

    init(_ transaction: any SQLTransaction) { self.transaction = transaction }

    /// The columns that identify a send, in the order of `arguments(of:)`.
    private static let isSend = "\"user\" = ? AND target = ? AND service = ? AND key = ?"
    private static let isCall = isSend + " AND instance = ? AND fence = ? AND number = ?"

    private static func arguments(of send: KeyedSend) -> [SQLValue] {
        [
            .text(send.user.text), .text(send.target), .text(send.service.rawValue), .bytes(send.key.bytes),
        ]
    }

    private static func arguments(of call: Call) -> [SQLValue] {
        arguments(of: call.send) + [.text(call.instance), .integer(call.fence), .integer(call.number)]
    }

    /// Returns whether journals of gateways are compared with a restored store now, so that it may lack a send.
    func awaitsJournals() throws -> Bool {
        let end = try transaction.integer(
            sql: """
                SELECT convert_from(value, 'UTF8')::bigint - \(StoreNode.now) FROM property
                WHERE name = '\(LedgerTables.comparisonEnd)'
                """)
        return end ?? 0 > 0
    }

    /// Stores the send of a call as in flight, unless it is stored. Replaces one that has expired.
    ///
    /// A row that is not replaced is locked until the end of the transaction, so that it is still there for a look-up.
    ///
    /// - Parameter time: The time of the gateway.
    /// - Returns: Whether it was stored.
    func insert(_ call: Call, at time: WallTime) throws -> Bool {
        let count = try transaction.execute(
            sql: """
                INSERT INTO keyed_send
                    ("user", target, service, key, instance, fence, number, message, at, state)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, \(StoreNode.now), 'in-flight')
                ON CONFLICT ("user", target, service, key) DO UPDATE
                SET instance = excluded.instance, fence = excluded.fence, number = excluded.number,
                    message = excluded.message, at = excluded.at, state = excluded.state, result = NULL, response = NULL
                WHERE keyed_send.at <= \(Self.expiryTime) - \(Self.period)
                """,
            arguments: SQLArguments(
                Self.arguments(of: call) + [.bytes(call.send.message.bytes), .integer(time.microseconds)]))
        return count > 0
    }

    /// Stores the send of a call as one whose result is unknown, unless it is stored.
    func insertUnknown(_ call: Call, at time: WallTime) throws {
        try transaction.execute(
            sql: """
                INSERT INTO keyed_send
                    ("user", target, service, key, instance, fence, number, message, at, state)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'unknown')
                ON CONFLICT ("user", target, service, key) DO NOTHING
                """,
            arguments: SQLArguments(
                Self.arguments(of: call) + [.bytes(call.send.message.bytes), .integer(time.microseconds)]))
    }

    /// Returns the stored send with the key of the call's send.
    func stored(for call: Call) throws -> Stored? {
        let row = try transaction.firstRow(
            sql: """
                SELECT message, state, result, response, number, (instance = ? AND fence = ?) AS own,
                    EXISTS (
                        SELECT 1 FROM node
                        WHERE node.instance = keyed_send.instance AND node.fence = keyed_send.fence
                            AND node.until > \(StoreNode.now)
                    ) AS live
                FROM keyed_send WHERE \(Self.isSend)
                """,
            arguments: SQLArguments([.text(call.instance), .integer(call.fence)] + Self.arguments(of: call.send)))
        guard let row else { return nil }
        return Stored(
            message: try row.required("message"), state: try row.required("state"),
            result: try row.optional("result"), response: try row.optional("response"),
            number: try row.required("number"), isOwn: try row.required("own"), isLive: try row.required("live"))
    }

    /// Marks a send as one that may have been made, because nobody will store its result.
    func markUnknown(_ send: KeyedSend) throws {
        try transaction.execute(
            sql: "UPDATE keyed_send SET state = 'unknown' WHERE \(Self.isSend) AND state = 'in-flight'",
            arguments: SQLArguments(Self.arguments(of: send)))
    }

    /// Stores the result of a call's send, or removes the send if it was not made. Another node may have marked it as
    /// unknown in the meantime.
    func complete(_ call: Call, _ result: KeyedSendResult) throws {
        let condition = Self.isCall + " AND state <> 'completed'"
        let arguments = Self.arguments(of: call)
        switch result {
        case .notSent:
            try transaction.execute(
                sql: "DELETE FROM keyed_send WHERE \(condition)", arguments: SQLArguments(arguments))
        case .unknown:
            try transaction.execute(
                sql: "UPDATE keyed_send SET state = 'unknown' WHERE \(condition)", arguments: SQLArguments(arguments))
        case .completed(let result, let response):
            try transaction.execute(
                sql: "UPDATE keyed_send SET state = 'completed', result = ?, response = ? WHERE \(condition)",
                arguments: SQLArguments([.text(result.rawValue), .bytes(response)] + arguments))
        }
    }

    // MARK: Removal

    /// Returns the time up to which sends have expired, in microseconds.
    ///
    /// - Parameter time: The time of the gateway.
    func expired(at time: WallTime) throws -> Int64 {
        let now = try transaction.integer(
            sql: "SELECT \(Self.expiryTime)", arguments: [time.microseconds])
        return (now ?? 0) - Self.period
    }

    /// Returns the time up to which sends are beyond the bound, counted from the newest; nil if there are not more.
    ///
    /// - Parameter user: The user whose sends are counted; nil for all.
    func excess(beyond bound: Int, of user: String? = nil) throws -> Int64? {
        let condition = user == nil ? "" : "WHERE \"user\" = ?"
        return try transaction.integer(
            sql: "SELECT at FROM keyed_send \(condition) ORDER BY at DESC LIMIT 1 OFFSET ?",
            arguments: SQLArguments((user.map { [.text($0)] } ?? []) + [.integer(Int64(bound))]))
    }

    /// Returns the users with more sends than the bound.
    func users(beyond bound: Int) throws -> [String] {
        // Without so many sends in all, nobody has, and not all need to be counted.
        let count = try transaction.integer(
            sql: "SELECT count(*) FROM (SELECT 1 FROM keyed_send LIMIT ?) AS counted", arguments: [bound + 1])
        guard count ?? 0 > bound else { return [] }
        let rows = try transaction.rows(
            sql: "SELECT \"user\" FROM keyed_send GROUP BY \"user\" HAVING count(*) > ?", arguments: [bound])
        return try rows.map { try $0.required("user") }
    }

    /// Removes at most `limit` sends up to the time, the oldest first, without those that another node removes now.
    ///
    /// - Parameter user: The user whose sends are removed; nil for all.
    /// - Returns: The number of removed sends.
    func remove(until time: Int64, of user: String? = nil, limit: Int) throws -> Int {
        let condition = user == nil ? "" : "AND \"user\" = ?"
        return try transaction.execute(
            sql: """
                DELETE FROM keyed_send WHERE ("user", target, service, key) IN (
                    SELECT "user", target, service, key FROM keyed_send WHERE at <= ? \(condition)
                    ORDER BY at LIMIT ? FOR UPDATE SKIP LOCKED
                )
                """,
            arguments: SQLArguments(
                [.integer(time)] + (user.map { [.text($0)] } ?? []) + [.integer(Int64(limit))]))
    }
}
