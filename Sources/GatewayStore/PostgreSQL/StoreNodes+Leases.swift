package import GatewayCore
internal import GatewaySupport

/// A task that one gateway at a time has among those that share a store.
package enum SharedTask: String, Sendable {
    /// The recheck of accounts, which ends grants.
    case accountRecheck = "account-recheck"
    /// The expiry of imported registrations, which counts the time in which a gateway runs.
    case importExpiry = "import-expiry"
    /// Changes of accounts, while they are written.
    case accountChanges = "account-changes"
}

/// The tasks that one gateway at a time has.
package protocol TaskLeases: Sendable {
    /// Takes the task for this gateway if it has it already, or if the one that has it does not run any more.
    ///
    /// - Returns: Whether this gateway has the task now.
    func acquire(_ task: SharedTask) async throws(LedgerUnavailable) -> Bool
}

extension StoreNodes: TaskLeases {
    package func acquire(_ task: SharedTask) async throws(LedgerUnavailable) -> Bool {
        try await ledger.write { [node] tables in try tables.acquire(task, for: node) }.get()
    }
}

/// Statements on the table `lease`.
extension LedgerTables {
    /// Takes the task for the node unless another live node has it. Returns whether the node has it now.
    func acquire(_ task: SharedTask, for node: StoreNode) throws -> Bool {
        try execute(
            sql: """
                INSERT INTO lease (name, instance, fence) VALUES (?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET instance = excluded.instance, fence = excluded.fence
                WHERE lease.instance = excluded.instance OR NOT EXISTS (
                    SELECT 1 FROM node WHERE node.instance = lease.instance AND node.fence = lease.fence
                        AND node.until > \(StoreNode.now))
                """,
            arguments: [task.rawValue, node.instance, node.fenceNumber]) > 0
    }

    /// Gives up the task.
    func release(_ task: SharedTask, of node: StoreNode) throws {
        try execute(
            sql: "DELETE FROM lease WHERE name = ? AND instance = ?", arguments: [task.rawValue, node.instance])
    }
}
