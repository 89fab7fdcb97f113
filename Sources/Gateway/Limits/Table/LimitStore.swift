internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The state that outlives a limiter: the table, and the assignment of numbers to limits. Shared by a limiter and its
/// successors.
final class LimitStore: Sendable {
    /// The identity of a limit: limits with equal names and keys are the same limit after a change of the
    /// configuration.
    private struct Name: Hashable {
        let text: String
        let per: Set<Limit.Key>

        init(_ limit: Limit) {
            text = limit.name
            per = limit.per
        }
    }

    private struct Numbers {
        var inUse: [Name: UInt16] = [:]
        var pinned: Set<Name> = []
        /// The highest number assigned so far, and the released numbers, the longest unused first.
        var highest: UInt16 = 0
        var free: [UInt16] = []

        mutating func allocate() -> UInt16 {
            if highest < .max {
                highest += 1
                return highest
            }
            // The number of limits in use is far below the number of values, so there is a free one.
            return free.removeFirst()
        }
    }

    /// The state that is shared with other nodes; nil without a shared store.
    let sharing: DebtSharing?
    let digests: LimitDigests
    let table: Mutex<LimitTable>
    let throttledKeys = Mutex(ThrottledKeys())
    private let numbers = Mutex(Numbers())
    private let shadowCounters = Mutex<[String: Counter]>([:])

    init(capacity: Int, now: Int64, sharing: DebtSharing? = nil) {
        var table = LimitTable(capacity: capacity, now: now)
        if sharing != nil { table.pending = PendingDebts() }
        self.table = Mutex(table)
        self.sharing = sharing
        digests = sharing?.digests ?? LimitDigests()
    }

    /// The digests of the limits in use, which other nodes know, and their numbers.
    var sharedNumbers: [(limit: UInt64, number: UInt16)] {
        numbers.withLock { numbers in
            numbers.inUse.map { (digests.limit($0.key.text, per: $0.key.per), $0.value) }
        }
    }

    /// Returns the digest of a limit, which other nodes know.
    func sharedLimit(_ limit: Limit) -> UInt64 { digests.limit(limit.name, per: limit.per) }

    /// Registers limits in place of all others except pinned ones, and returns the number of each.
    ///
    /// - Parameter arePinned: Whether these limits are pinned, so that later calls do not remove them. Pinned limits
    ///   replace no others.
    func register(_ limits: [Limit], arePinned: Bool = false) -> [UInt16] {
        let (registered, removed) = numbers.withLock { numbers -> ([UInt16], [UInt16]) in
            let names = limits.map(Name.init)
            let registered = names.map { name in
                let number = numbers.inUse[name] ?? numbers.allocate()
                numbers.inUse[name] = number
                if arePinned { numbers.pinned.insert(name) }
                return number
            }
            guard !arePinned else { return (registered, []) }
            let kept = numbers.pinned.union(names)
            let removed = numbers.inUse.filter { !kept.contains($0.key) }
            for name in removed.keys { numbers.inUse[name] = nil }
            numbers.free += removed.values
            return (registered, Array(removed.values))
        }
        table.withLock { table in
            for (number, limit) in zip(registered, limits) {
                table.use(number, maximumDebt: limit.rate(isShared: sharing != nil).maximumDebt)
            }
            for number in removed { table.use(number, maximumDebt: 0) }
        }
        return registered
    }

    /// Returns the counter of calls that the limit would have rejected in shadow mode. It is kept when the
    /// configuration changes.
    func shadowCounter(of limit: Limit) -> Counter {
        shadowCounters.withLock { shadowCounters in
            if let known = shadowCounters[limit.name] { return known }
            let new = Counter()
            shadowCounters[limit.name] = new
            return new
        }
    }

    /// Removes keys with their debt, in parts so that no call waits for long. Returns the number of removed keys with a
    /// debt.
    func remove(now: Int64, _ isPicked: (LimitKey) -> Bool) -> Int {
        var (owing, segment, count) = (0, 0, 1)
        while segment < count {
            table.withLock { table in
                count = table.segmentCount
                for index in segment..<min(segment + 16, count) {
                    owing += table.remove(inSegment: index, now: now, isPicked)
                }
            }
            segment += 16
        }
        return owing
    }
}
