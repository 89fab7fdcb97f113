public import GatewayCore
internal import Synchronization

/// The debts of all limits of this limiter, its predecessors and its successors. The shared entries of new keys in a full
/// table stay with this node.
extension Limiter: DebtSource {
    public func takeDebts() -> [AddedDebt] { store.takeDebts(clocks) }

    public func restore(_ debts: [AddedDebt]) { store.restore(debts) }

    public func apply(_ totals: [TotalDebt]) { store.apply(totals, clocks) }

    public func apply(_ changes: [DebtChange]) {
        for change in changes where change.kind == .debtsRemoved { _ = store.remove(change.pattern, now: now) }
    }

    public func use(weight: Int) { store.table.withLock { $0.weight = max(1, min(weight, Self.maximumWeight)) } }

    private static let maximumWeight = 1000
}
