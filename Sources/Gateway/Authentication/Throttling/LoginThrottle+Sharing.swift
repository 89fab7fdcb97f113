public import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The key of a throttle table.
enum ThrottleKey: Hashable, Sendable {
    case address(Peer.Address)
    case pair(KnownLogins.Pair)
    case user(UserName)
    /// A pair that is known.
    case known(KnownLogins.Pair)
}

/// The keys of a throttle's tables as other nodes know them.
struct ThrottleDebtKeys: Sendable {
    let digests: LimitDigests
    let address: UInt64
    let pair: UInt64
    let user: UInt64
    let known: UInt64

    init(_ digests: LimitDigests) {
        self.digests = digests
        address = digests.throttle("address")
        pair = digests.throttle("pair")
        user = digests.throttle("user")
        known = digests.throttle("known")
    }

    /// Returns the shared key.
    func key(_ key: ThrottleKey) -> DebtKey {
        switch key {
        case .address(let address): self.key(self.address, nil, address)
        case .pair(let pair): self.key(self.pair, pair.user, pair.address)
        case .user(let user): self.key(self.user, user, nil)
        case .known(let pair): self.key(known, pair.user, pair.address)
        }
    }

    private func key(_ table: UInt64, _ user: UserName?, _ address: Peer.Address?) -> DebtKey {
        var key = DebtKey(limit: table)
        key.caller = user.map(digests.user) ?? 0
        key.address = address.map(digests.address) ?? 0
        return key
    }

    /// Returns the pattern of the tables' keys with this user and address.
    func pattern(user: UserName? = nil, address: Peer.Address? = nil) -> DebtPattern {
        var tables: Set<UInt64> = [self.address, pair, self.user, known]
        if user != nil { tables.remove(self.address) }
        if address != nil { tables.remove(self.user) }
        var pattern = DebtPattern(limits: tables)
        pattern.caller = user.map(digests.user)
        pattern.address = address.map(digests.address)
        return pattern
    }
}

/// The debts of failed logins, and the known pairs. The entries that new keys of a full table share stay with this node.
extension LoginThrottle: DebtSource {
    /// Returns the debts that were added since the last call, in the order of the keys.
    public func takeDebts() -> [AddedDebt] {
        guard let keys else { return [] }
        return tables.withLock { tables in
            let now = clocks.monotonic().nanoseconds
            var debts: [AddedDebt] = []
            var inFlight: [DebtKey: ThrottleKey] = [:]
            func add(_ key: ThrottleKey, _ debt: Int64, _ rate: GCRA) {
                let shared = keys.key(key)
                inFlight[shared] = key
                debts.append(AddedDebt(key: shared, added: debt, maximum: rate.maximumDebt))
            }
            for (key, debt) in tables.addresses.takePending(now: now) {
                add(.address(key), debt, tables.addresses.rate)
            }
            for (key, debt) in tables.pairs.takePending(now: now) { add(.pair(key), debt, tables.pairs.rate) }
            for (key, debt) in tables.users.takePending(now: now) { add(.user(key), debt, tables.users.rate) }
            for (key, debt) in tables.known.takePending(now: now) { add(.known(key), debt, tables.known.rate) }
            tables.inFlight = inFlight
            return debts.sorted { $0.key < $1.key }
        }
    }

    /// Adds debts that could not be shared to those of the next call of `takeDebts`.
    public func restore(_ debts: [AddedDebt]) {
        tables.withLock { tables in
            for debt in debts {
                switch tables.inFlight[debt.key] {
                case .address(let key): tables.addresses.restore(debt.added, for: key)
                case .pair(let key): tables.pairs.restore(debt.added, for: key)
                case .user(let key): tables.users.restore(debt.added, for: key)
                case .known(let key): tables.known.restore(debt.added, for: key)
                case nil: break
                }
            }
        }
    }

    /// Replaces the debts of keys by their totals, plus what was added since they were taken.
    public func apply(_ totals: [TotalDebt]) {
        tables.withLock { tables in
            let now = clocks.monotonic().nanoseconds
            for total in totals {
                switch tables.inFlight[total.key] {
                case .address(let key): tables.addresses.adopt(total.debt, for: key, now: now)
                case .pair(let key): tables.pairs.adopt(total.debt, for: key, now: now)
                case .user(let key): tables.users.adopt(total.debt, for: key, now: now)
                case .known(let key): tables.known.adopt(total.debt, for: key, now: now)
                case nil: break
                }
            }
        }
    }

    /// Applies the changes of all nodes in their order.
    public func apply(_ changes: [DebtChange]) {
        guard keys != nil else { return }
        let now = clocks.monotonic().nanoseconds
        // Removals in a row are applied together, because each looks at the whole table.
        var removed: Set<UInt64> = []
        func removeKnown() {
            if !removed.isEmpty { tables.withLock { $0.known.removeAll(ofDigests: removed) } }
            removed = []
        }
        for change in changes {
            switch change.kind {
            case .knownLoginsRemoved:
                if let user = change.pattern.caller {
                    removed.insert(user)
                } else {
                    tables.withLock { $0.known.removeAll(ofDigests: nil) }
                }
            case .knownLogin:
                removeKnown()
                guard let user = change.pattern.caller, let address = change.pattern.address else { continue }
                let pair = LearnedLogins.Pair(user: user, address: address)
                tables.withLock { $0.known.learn(pair, lastSuccess: now - change.age) }
            case .debtsRemoved: lift(change.pattern)
            }
        }
        removeKnown()
    }

    /// Clears the failed logins that match.
    private func lift(_ pattern: DebtPattern) {
        guard let keys else { return }
        func matches(_ key: ThrottleKey) -> Bool { pattern.matches(keys.key(key)) }
        tables.withLock { tables in
            if pattern.isOfWholeLimits, pattern.includes(limit: keys.address) {
                _ = tables.addresses.liftAll() + tables.pairs.liftAll() + tables.users.liftAll()
                _ = tables.known.lift { _ in true }
                return
            }
            if pattern.includes(limit: keys.address) { _ = tables.addresses.lift { matches(.address($0)) } }
            if pattern.includes(limit: keys.pair) { _ = tables.pairs.lift { matches(.pair($0)) } }
            if pattern.includes(limit: keys.user) { _ = tables.users.lift { matches(.user($0)) } }
            if pattern.includes(limit: keys.known) { _ = tables.known.lift { matches(.known($0)) } }
        }
    }

    /// Sets the factor by which further failed logins count, at most 1,000. Takes effect with the next login.
    public func use(weight: Int) {
        let weight = max(1, min(weight, 1000))
        tables.withLock { tables in
            tables.addresses.weight = weight
            tables.pairs.weight = weight
            tables.users.weight = weight
            tables.known.weight = weight
        }
    }

    /// Tells other nodes that the user has logged in from the address.
    func announce(_ pair: KnownLogins.Pair) {
        guard let sharing, let keys else { return }
        var pattern = DebtPattern()
        pattern.caller = keys.digests.user(pair.user)
        pattern.address = keys.digests.address(pair.address)
        sharing.announce(.knownLogin, pattern)
    }
}
