import GatewayCore

/// The rows of the shared store in memory, with the arithmetic of the store's statement.
struct DebtModel {
    private(set) var arrivals: [DebtKey: Int64] = [:]
    private var changes: [DebtChange] = []

    /// Adds debts and returns the totals, as one statement does.
    mutating func add(_ debts: [AddedDebt], now: Int64) -> [TotalDebt] {
        debts.map { debt in
            let arrival = min(max(arrivals[debt.key] ?? 0, now) + debt.added, now + debt.maximum)
            arrivals[debt.key] = arrival
            return TotalDebt(key: debt.key, debt: arrival - now)
        }
    }

    /// Exchanges the debts of one node.
    mutating func exchange(_ node: some DebtSource, now: Int64) { node.apply(add(node.takeDebts(), now: now)) }

    /// Removes the rows that match.
    mutating func remove(_ pattern: DebtPattern) { arrivals = arrivals.filter { !pattern.matches($0.key) } }
}
