internal import GatewayCore

extension LimitTable {
    /// Returns the debts that were added since the last call, and continues with an empty value.
    mutating func takePending(leaving empty: PendingDebts) -> PendingDebts? {
        guard pending != nil else { return nil }
        defer { pending = empty }
        return pending
    }

    /// Returns what is left of a debt that was added to a key: at most the present debt, because what was added long ago,
    /// as before the server was away, may be paid back.
    func remaining(of added: Int64, for key: LimitKey, now: Int64) -> Int64 {
        guard added > 0 else { return added }
        guard let theoreticalArrival = theoreticalArrival(of: key), theoreticalArrival > now else { return 0 }
        return min(added, theoreticalArrival - now)
    }

    /// Replaces the debt of a key by the debt over all nodes, plus what was added on this node since it was taken.
    mutating func adopt(_ debt: Int64, for key: LimitKey, now: Int64) {
        let maximum = maximumDebt(of: key.limit)
        guard maximum > 0 else { return }
        let since = pending?.debt(of: key, at: key.position) ?? 0
        let debt = max(0, min(max(0, debt).addingDebt(since), maximum))
        setOwn(now + debt, for: key, isNewAllowed: debt > 0)
    }
}
