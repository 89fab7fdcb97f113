public import GatewayCore
internal import Synchronization

/// The debts of all limits of this limiter, its predecessors and its successors. The shared entries of new keys in a full
/// table stay with this node.
extension Limiter: DebtSource {
    /// Returns the debts that were added since the last call, in the order of the keys.
    public func takeDebts() -> [AddedDebt] { store.takeDebts(clocks) }

    /// Adds debts that could not be shared to those of the next call of `takeDebts`.
    public func restore(_ debts: [AddedDebt]) { store.restore(debts) }

    /// Replaces the debts of keys by their totals, plus what was added since they were taken.
    public func apply(_ totals: [TotalDebt]) { store.apply(totals, clocks) }

    /// Applies the changes of all nodes in their order.
    public func apply(_ changes: [DebtChange]) {
        for change in changes where change.kind == .debtsRemoved { _ = store.remove(change.pattern, now: now) }
    }

    /// Sets the factor by which further calls count, at most 1,000. Takes effect with the next call.
    public func use(weight: Int) { store.table.withLock { $0.weight = max(1, min(weight, Self.maximumWeight)) } }

    private static let maximumWeight = 1000
}
