internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

extension LimitStore {
    /// The number of keys for which the table is locked at once, so that calls do not wait for long.
    private static let keysAtOnce = 256

    /// Returns the debts that were added since the last call, in the order of the keys.
    func takeDebts(_ clocks: Clocks) -> [AddedDebt] {
        guard let counts = table.withLock({ $0.pending?.counts }) else { return [] }
        // Made while the table is not locked.
        let empty = PendingDebts(expecting: counts)
        guard let taken = table.withLock({ $0.takePending(leaving: empty) })?.all else { return [] }
        let limits = Dictionary(sharedNumbers.map { ($1, $0) }) { first, _ in first }
        var debts: [AddedDebt] = []
        for start in stride(from: 0, to: taken.count, by: Self.keysAtOnce) {
            let part = taken[start..<min(start + Self.keysAtOnce, taken.count)]
            table.withLock { table in
                let now = clocks.monotonic().nanoseconds
                for (key, added) in part {
                    let remaining = table.remaining(of: added, for: key, now: now)
                    guard remaining != 0, let limit = limits[key.limit] else { continue }
                    debts.append(
                        AddedDebt(
                            key: DebtKey(key, limit: limit), added: remaining,
                            maximum: table.maximumDebt(of: key.limit)))
                }
            }
        }
        return debts.sorted { $0.key < $1.key }
    }

    /// Adds debts that could not be shared to those of the next call of `takeDebts`.
    func restore(_ debts: [AddedDebt]) {
        let numbers = Dictionary(sharedNumbers) { first, _ in first }
        for start in stride(from: 0, to: debts.count, by: Self.keysAtOnce) {
            table.withLock { table in
                for debt in debts[start..<min(start + Self.keysAtOnce, debts.count)] {
                    guard let number = numbers[debt.key.limit] else { continue }
                    let key = LimitKey(debt.key, number: number)
                    table.pending?.add(debt.added, for: key, at: key.position)
                }
            }
        }
    }

    /// Replaces the debts of keys by their totals, plus what was added since they were taken.
    func apply(_ totals: [TotalDebt], _ clocks: Clocks) {
        let numbers = Dictionary(sharedNumbers) { first, _ in first }
        for start in stride(from: 0, to: totals.count, by: Self.keysAtOnce) {
            table.withLock { table in
                let now = clocks.monotonic().nanoseconds
                for total in totals[start..<min(start + Self.keysAtOnce, totals.count)] {
                    guard let number = numbers[total.key.limit] else { continue }
                    table.adopt(total.debt, for: LimitKey(total.key, number: number), now: now)
                }
            }
        }
    }

    /// Removes the matching keys with their debt, also what was not shared yet. Returns the number of removed keys with a
    /// debt. The shared entries of new keys in a full table are removed only with whole limits.
    func remove(_ pattern: DebtPattern, now: Int64) -> Int {
        let numbers = Set(sharedNumbers.filter { pattern.includes(limit: $0.limit) }.map(\.number))
        guard !numbers.isEmpty else { return 0 }
        func matches(_ key: LimitKey) -> Bool {
            numbers.contains(key.limit) && pattern.matchesSubjects(of: DebtKey(key, limit: 0))
        }
        let owing = remove(now: now, matches)
        table.withLock { table in
            table.pending?.remove(matches)
            guard pattern.isOfWholeLimits else { return }
            for number in numbers { table.removeShared(of: number) }
        }
        return owing
    }
}

extension DebtKey {
    fileprivate init(_ key: LimitKey, limit: UInt64) {
        self.init(limit: limit)
        (caller, recipient, address) = (key.caller, key.recipient, key.address)
        (group, service) = (key.group, key.service)
    }
}

extension LimitKey {
    fileprivate init(_ key: DebtKey, number: UInt16) {
        self.init(limit: number)
        (caller, recipient, address) = (key.caller, key.recipient, key.address)
        (group, service) = (key.group, key.service)
    }
}
