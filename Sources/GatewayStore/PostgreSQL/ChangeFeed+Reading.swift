internal import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient

/// The transactions of a feed.
extension ChangeFeed {
    /// The result of one reading.
    private struct Reading {
        var changes: [SessionChange]
        /// The last change that every other live node has applied; nil if there is no other.
        var appliedElsewhere: Int64?
        /// Whether every other live node has found its commits on the server's timeline.
        var isConfirmedElsewhere: Bool
    }

    /// The number of changes that are read at once.
    private static let batch = 1000
    /// How long a change is kept in the table, in microseconds.
    private static let retention = 2 * StoreNode.maximumGap

    /// Reads the changes, applies them, and shows that this node is live.
    ///
    /// - Parameter published: The last change of which the other nodes know that this node has applied it.
    func read(_ connection: PostgreSQLConnection, _ published: inout Int64?) throws {
        let (began, after, acknowledged) = (clocks.sinceBoot(), position, node.commits.acknowledged)
        let reading = try inTransaction(connection) { transaction in
            // The new sign of life replaces the last one that the server has of this node, so that one is read first.
            if published == nil { try recordServer(connection, transaction) }
            try node.showLife(transaction, applied: after.number, timeline: connection.timeline)
            // The first reading of a connection may be of another server.
            if published == nil, try !AcknowledgedCommits.has(acknowledged, of: node.instance, transaction) {
                throw try node.recordOlderCopy(transaction)
            }
            guard let changes = try LedgerTables(transaction).changes(after: after, limit: Self.batch) else {
                throw try node.recordOlderCopy(transaction)
            }
            // Gateways of earlier versions know no timeline.
            let others = try transaction.firstRow(
                sql: """
                    SELECT min(applied) FILTER (WHERE until > \(StoreNode.now)) AS applied,
                        count(*) FILTER (WHERE timeline <> ?) AS unconfirmed
                    FROM node WHERE instance <> ? AND until > LEAST(\(StoreNode.now), ?) AND NOT is_exclusive
                    """,
                arguments: [connection.timeline, node.instance, lastNews(at: began)])
            if let published, published < after.number { try transaction.notify(Self.channel(of: settings)) }
            return Reading(
                changes: changes, appliedElsewhere: try others?.optional("applied", as: Int64.self),
                isConfirmedElsewhere: try others?.required("unconfirmed", as: Int64.self) == 0)
        }
        if reading.isConfirmedElsewhere { node.confirm(timeline: connection.timeline) }
        published = after.number
        if reading.changes.contains(where: { if case .restored = $0.effect { !$0.isOwn } else { false } }) {
            throw node.record(.restored)
        }
        apply(reading.changes)
        if reading.changes.count < Self.batch { node.recordReading(begunAt: began.nanoseconds) }
        resumeWaiting(appliedElsewhere: reading.appliedElsewhere ?? .max)
    }

    /// Removes the changes that no live node needs. The newest of them stays: a node that has read no other yet compares it.
    func removeOld(_ connection: PostgreSQLConnection) throws {
        try inTransaction(connection) { transaction in
            _ = try transaction.execute(
                sql: """
                    DELETE FROM change
                    WHERE number < (SELECT max(number) FROM change WHERE recorded < \(StoreNode.now) - ?)
                    """,
                arguments: [Self.retention])
        }
    }

    /// Records when the first reading on a timeline was, and the last sign of life that the server has of this node.
    private func recordServer(_ connection: PostgreSQLConnection, _ transaction: PostgreSQLTransaction) throws {
        if server?.timeline == connection.timeline { return }
        server = (connection.timeline, clocks.sinceBoot().nanoseconds, try node.lastSign(transaction) ?? .max)
    }

    /// Returns the time on the database's clock from which a gateway counts as live for the comparison of commits: after a
    /// fail-over of any length, those that were live with this one are waited for as long as a sign of life counts.
    private func lastNews(at now: MonotonicInstant) -> Int64 {
        guard let server, now.nanoseconds - server.firstReading < StoreNode.duration * 1000 else { return .max }
        return server.lastSign
    }

    private func inTransaction<Value>(
        _ connection: PostgreSQLConnection, _ body: (PostgreSQLTransaction) throws -> Value
    ) throws -> Value {
        try connection.simple("BEGIN ISOLATION LEVEL READ COMMITTED")
        do {
            let value = try body(PostgreSQLTransaction(connection: connection, node: node.instance))
            try connection.commit()
            return value
        } catch {
            if connection.isUsable { try? connection.simple("ROLLBACK") }
            throw error
        }
    }
}
