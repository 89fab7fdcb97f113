internal import GatewaySupport

/// The gateways whose journals were compared with a restored store, in the column `node.compared`.
extension LedgerTables {
    /// Returns the time of the restore with which the journal of each gateway is compared; nil once all have been.
    func comparedSince() throws -> WallTime? {
        try property("compared-since").flatMap { Int64($0) }.map(WallTime.init(microseconds:))
    }

    /// Stores that this gateway's journal was compared. Does nothing in a database with one user.
    ///
    /// - Returns: The machines of the gateways whose journals were not. Those that nobody has seen for longer than ``StoreNodes``
    ///   lists them do not count.
    func markCompared(_ pending: PendingRestore) throws -> [String] {
        guard let node else { return [] }
        let since = pending.since.microseconds
        if pending.isFirst {
            try store(property: "compared-since", String(since))
            // Of an earlier restore to the same time.
            try execute(sql: "UPDATE node SET compared = NULL")
        }
        try execute(sql: "UPDATE node SET compared = ? WHERE instance = ?", arguments: [since, node])
        let rows = try rows(
            sql: """
                SELECT host FROM node WHERE compared IS DISTINCT FROM ? AND NOT is_exclusive
                    AND GREATEST(until, started) > \(StoreNode.now) - ? ORDER BY host
                """,
            arguments: [since, StoreNodes.memory])
        if rows.isEmpty { try remove(property: "compared-since") }
        return try rows.map { try $0.required("host", as: String.self) }
    }
}
