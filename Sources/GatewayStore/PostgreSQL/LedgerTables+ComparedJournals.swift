internal import GatewaySupport

/// The gateways whose journals were compared with a restored store, in the column `node.compared`.
extension LedgerTables {
    /// Returns the time of the restore with which the journal of each gateway is compared; nil once all have been.
    func comparedSince() throws -> WallTime? {
        try property("compared-since").flatMap { Int64($0) }.map(WallTime.init(microseconds:))
    }

    /// The property with the time up to which keyed sends wait for the comparison of all journals, in microseconds by the
    /// database's clock.
    static let comparisonEnd = "compared-until"

    /// The longest such time: the restart of a gateway that has lost its store, and some attempts more. A gateway that does not
    /// come back must not keep the others from sending.
    static let comparisonTime: Int64 = 120_000_000

    /// Stores that this gateway's journal was compared. Does nothing in a database with one user.
    ///
    /// - Returns: The machines of the gateways whose journals were not. Those that nobody has seen for longer than ``StoreNodes``
    ///   lists them do not count.
    func markCompared(_ pending: PendingRestore) throws -> [String] {
        guard let node else { return [] }
        let since = pending.since.microseconds
        if pending.isFirst {
            try store(property: "compared-since", String(since))
            let now = try integer(sql: "SELECT \(StoreNode.now)") ?? 0
            try store(property: Self.comparisonEnd, String(now + Self.comparisonTime))
            // An earlier restore may have been to the same time.
            try execute(sql: "UPDATE node SET compared = NULL")
        }
        try execute(sql: "UPDATE node SET compared = ? WHERE instance = ?", arguments: [since, node])
        let rows = try rows(
            sql: """
                SELECT host FROM node WHERE compared IS DISTINCT FROM ? AND NOT is_exclusive
                    AND GREATEST(until, started) > \(StoreNode.now) - ? ORDER BY host
                """,
            arguments: [since, StoreNodes.memory])
        if rows.isEmpty {
            for name in ["compared-since", Self.comparisonEnd] { try remove(property: name) }
        }
        return try rows.map { try $0.required("host", as: String.self) }
    }
}
