internal import GatewayCore
internal import Synchronization

/// What outlives a limiter: the table, and which number of it is which limit's. Shared by a limiter and those that replace it.
final class LimitStore: Sendable {
    /// What makes two limits one over a change of the rest.
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
        /// The highest that was ever given, and those that are free again, the longest unused first.
        var highest: UInt16 = 0
        var free: [UInt16] = []

        mutating func take() -> UInt16 {
            if highest < .max {
                highest += 1
                return highest
            }
            // Far fewer limits than numbers are in use at a time.
            return free.removeFirst()
        }
    }

    let digests = LimitDigests()
    let table: Mutex<LimitTable>
    let refused = Mutex(RefusedKeys())
    private let numbers = Mutex(Numbers())
    private let trials = Mutex<[String: Counter]>([:])

    init(capacity: Int, now: Int64) { table = Mutex(LimitTable(capacity: capacity, now: now)) }

    /// Takes limits into use, in place of all but those that stay for good, and returns the number of each.
    ///
    /// - Parameter areForGood: whether no later call puts them out of use, and these put out none.
    func adopt(_ limits: [Limit], areForGood: Bool = false) -> [UInt16] {
        let (adopted, dropped) = numbers.withLock { numbers -> ([UInt16], [UInt16]) in
            let names = limits.map(Name.init)
            let adopted = names.map { name in
                let number = numbers.inUse[name] ?? numbers.take()
                numbers.inUse[name] = number
                if areForGood { numbers.pinned.insert(name) }
                return number
            }
            guard !areForGood else { return (adopted, []) }
            let kept = numbers.pinned.union(names)
            let dropped = numbers.inUse.filter { !kept.contains($0.key) }
            for name in dropped.keys { numbers.inUse[name] = nil }
            numbers.free += dropped.values
            return (adopted, Array(dropped.values))
        }
        table.withLock { table in
            for (number, limit) in zip(adopted, limits) {
                let rate = CellRate(count: limit.count, period: limit.period, burst: limit.burst)
                table.use(number, memory: rate.memory)
            }
            for number in dropped { table.use(number, memory: 0) }
        }
        return adopted
    }

    /// What counts how often the limit would have refused while it was in trial; goes on where it stands over a change.
    func trial(of limit: Limit) -> Counter {
        trials.withLock { trials in
            if let known = trials[limit.name] { return known }
            let new = Counter()
            trials[limit.name] = new
            return new
        }
    }

    /// Forgets keys, whatever they owe, a part of the table at a time so that no call waits for long; returns how many owed.
    func forget(now: Int64, _ isPicked: (LimitKey) -> Bool) -> Int {
        var (owing, segment, count) = (0, 0, 1)
        while segment < count {
            table.withLock { table in
                count = table.segmentCount
                for index in segment..<min(segment + 16, count) {
                    owing += table.forget(inSegment: index, now: now, isPicked)
                }
            }
            segment += 16
        }
        return owing
    }
}
