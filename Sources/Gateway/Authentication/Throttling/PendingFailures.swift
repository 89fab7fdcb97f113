/// The debts that were added to the keys of a throttle table since they were last shared, in a bounded number of entries.
/// Further keys of a full map stay with this node until the next exchange.
struct PendingFailures<Key: Hashable & Sendable>: Sendable {
    private static var capacity: Int { 8192 }

    private var debts: [Key: Int64] = [:]

    /// Adds a debt in nanoseconds, negative for a refund.
    mutating func add(_ debt: Int64, for key: Key) {
        guard debts.count < Self.capacity || debts[key] != nil else { return }
        debts[key, default: 0] = debts[key, default: 0].addingDebt(debt)
    }

    /// Returns the debt of a key; 0 if there is none.
    func debt(of key: Key) -> Int64 { debts[key] ?? 0 }

    /// Removes the matching keys.
    mutating func remove(where matches: (Key) -> Bool) { debts = debts.filter { !matches($0.key) } }

    /// Removes all keys and returns their debts, with each at most its present debt, because what was added long ago may be
    /// paid back.
    mutating func take(present: (Key) -> Int64) -> [(key: Key, debt: Int64)] {
        defer { debts = [:] }
        return debts.compactMap { key, added in
            let remaining = added > 0 ? min(added, present(key)) : added
            return remaining == 0 ? nil : (key, remaining)
        }
    }
}
