internal import GatewayCore
internal import GatewaySupport

extension KnownLogins {
    /// Returns the debts that were added since the last call.
    mutating func takePending(now: Int64) -> [(key: Pair, debt: Int64)] {
        guard var taken = pending else { return [] }
        pending = PendingFailures()
        return taken.take { rate.debt(theoreticalArrival: logins[$0]?.theoreticalArrival, now: now) }
    }

    /// Adds a debt that could not be shared to those of the next call of `takePending`.
    mutating func restore(_ debt: Int64, for pair: Pair) { pending?.add(debt, for: pair) }

    /// Replaces the debt of a pair by the debt over all nodes, plus what was added since it was taken.
    mutating func adopt(_ debt: Int64, for pair: Pair, now: Int64) {
        let debt = min(max(0, debt).addingDebt(pending?.debt(of: pair) ?? 0), rate.maximumDebt)
        logins.update(pair) { $0.theoreticalArrival = debt > 0 ? now + debt : nil }
    }

    /// Stores a successful login at another node.
    mutating func learn(_ pair: LearnedLogins.Pair, lastSuccess: Int64) {
        learned.insert(pair, lastSuccess: lastSuccess)
    }

    /// Removes all pairs of users that are given by their digests, or of all users for nil.
    mutating func removeAll(ofDigests users: Set<UInt64>?) {
        learned.removeAll(of: users)
        guard let digests else { return }
        func matches(_ pair: Pair) -> Bool { users?.contains(digests.user(pair.user)) ?? true }
        pending?.remove(where: matches)
        for login in logins.entries where matches(login.key) { logins.remove(login.key) }
    }
}
