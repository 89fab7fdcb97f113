internal import GatewayCore

/// A bounded table of the rate limiter state of failed logins, by key.
///
/// When it is full, the entries closest to expiry are evicted. A new key without room shares an entry with the new keys
/// of its address block, or, if that entry finds no room either, with all other new keys.
///
/// `LimitTable` is the other bounded table of GCRA state. The arithmetic of both is in `GCRA`; two differences keep the
/// tables apart:
///
/// - This table stores names, because operators list and lift bans by them. `LimitTable` stores only digests, because
///   it has up to a million keys, and for the same reason is divided into segments that are swept one at a time.
/// - The keys here are chosen by clients without a valid credential. In a full table an attacker's many small debts are
///   evicted before the large debt of a ban, and new keys share an entry only with their address block. The keys of
///   `LimitTable` belong mostly to authenticated callers; it evicts no debt, and new keys share entries by digest.
struct ThrottleTable<Key: Hashable & Sendable> {
    /// The entry that a key counts in: its own, one for its address block, or one for everybody.
    enum Bucket: Hashable, Sendable {
        case own(Key)
        case shared(AddressPrefix)
        case everybody
    }

    let rate: GCRA
    // Theoretical arrival times of `GCRA`. A time in the past means no debt.
    private var arrivals: [Bucket: Int64] = [:]
    private let capacity: Int
    // One sixteenth of the capacity is reserved for shared entries.
    private let capacityOfOwn: Int
    private var nextEviction = Int64.min
    /// The debts to share with other nodes; nil without a shared store. Shared entries stay with this node.
    private var pending: PendingFailures<Key>?
    /// The factor by which failures count: more than 1 while this node is cut off from others.
    var weight = 1

    /// The minimum time between two evictions in nanoseconds, because scanning a full table takes about a millisecond.
    private static var evictionInterval: Int64 { 1_000_000_000 }

    init(rate: GCRA, capacity: Int, isShared: Bool = false) {
        self.rate = isShared ? rate.shared : rate
        pending = isShared ? PendingFailures() : nil
        self.capacity = max(3, capacity)
        capacityOfOwn = max(1, self.capacity / 16 * 15)
    }

    /// The number of entries. For tests of the bound.
    var count: Int { arrivals.count }

    /// Returns the entry of a key: its own if it exists or there is room, otherwise a shared one.
    mutating func bucket(for key: Key, in block: AddressPrefix, now: Int64) -> Bucket {
        let ownBucket = Bucket.own(key)
        if arrivals[ownBucket] != nil || arrivals.count < capacityOfOwn { return ownBucket }
        evict(now)
        if arrivals.count < capacityOfOwn { return ownBucket }
        let shared = Bucket.shared(block)
        if arrivals[shared] != nil || arrivals.count < capacity - 1 { return shared }
        return .everybody
    }

    /// Returns the time until one more failure is allowed, in nanoseconds; 0 for now.
    func wait(at bucket: Bucket, now: Int64) -> Int64 { rate.wait(theoreticalArrival: arrivals[bucket], now: now) }

    /// Charges a failed login to the entry, and returns the time at which the charge has expired.
    @discardableResult mutating func charge(_ bucket: Bucket, now: Int64) -> Int64 {
        let theoreticalArrival = rate.charged(theoreticalArrival: arrivals[bucket], now: now, cost: weight)
        arrivals[bucket] = theoreticalArrival
        if case .own(let key) = bucket { pending?.add(rate.interval, for: key) }
        return theoreticalArrival
    }

    /// Refunds a charge that has not expired. Removes an entry without debt.
    mutating func refund(_ bucket: Bucket, expiring expiry: Int64 = .max, now: Int64) {
        guard expiry > now, let theoreticalArrival = arrivals[bucket] else { return }
        let refunded = theoreticalArrival - rate.time(of: weight)
        arrivals[bucket] = refunded > now ? refunded : nil
        if case .own(let key) = bucket { pending?.add(-min(rate.interval, max(0, theoreticalArrival - now)), for: key) }
    }

    /// Removes the matching entries and returns how many.
    mutating func lift(where matches: (Key) -> Bool) -> Int {
        let before = arrivals.count
        pending?.remove(where: matches)
        arrivals = arrivals.filter { bucket, _ in
            switch bucket {
            case .own(let key): !matches(key)
            case .shared, .everybody: true
            }
        }
        return before - arrivals.count
    }

    /// Removes all entries, shared ones included, and returns how many.
    mutating func liftAll() -> Int {
        defer { arrivals = [:] }
        pending?.remove { _ in true }
        return arrivals.count
    }

    /// Returns the entries that have to wait now, with their wait in nanoseconds.
    func blocked(now: Int64) -> [(bucket: Bucket, wait: Int64)] {
        arrivals.compactMap { bucket, theoreticalArrival in
            let wait = rate.wait(theoreticalArrival: theoreticalArrival, now: now)
            return wait > 0 ? (bucket, wait) : nil
        }
    }

    // MARK: Sharing

    /// Returns the debts that were added since the last call.
    mutating func takePending(now: Int64) -> [(key: Key, debt: Int64)] {
        guard var taken = pending else { return [] }
        pending = PendingFailures()
        return taken.take { rate.debt(theoreticalArrival: arrivals[.own($0)], now: now) }
    }

    /// Adds a debt that could not be shared to those of the next call of `takePending`.
    mutating func restore(_ debt: Int64, for key: Key) { pending?.add(debt, for: key) }

    /// Replaces the debt of a key by the debt over all nodes, plus what was added since it was taken. A new key in a full
    /// table stays without an entry.
    mutating func adopt(_ debt: Int64, for key: Key, now: Int64) {
        let debt = min(max(0, debt).addingDebt(pending?.debt(of: key) ?? 0), rate.maximumDebt)
        guard arrivals[.own(key)] != nil || arrivals.count < capacityOfOwn else { return }
        arrivals[.own(key)] = debt > 0 ? now + debt : nil
    }

    /// Evicts a sixteenth of the entries: first those without debt, then those with the least debt.
    private mutating func evict(_ now: Int64) {
        guard now >= nextEviction else { return }
        nextEviction = now + Self.evictionInterval
        let surplus = max(1, capacityOfOwn / 16)
        // Groups debts into 64 classes of equal width. The order within a class does not matter.
        let part = rate.maximumDebt / 62 + 1
        func size(_ theoreticalArrival: Int64) -> Int {
            theoreticalArrival <= now ? 0 : Int(min(63, (theoreticalArrival - now) / part + 1))
        }
        var numbers = [Int](repeating: 0, count: 64)
        for theoreticalArrival in arrivals.values { numbers[size(theoreticalArrival)] += 1 }
        var (most, sum) = (0, numbers[0])
        while sum < surplus, most < 63 {
            most += 1
            sum += numbers[most]
        }
        // From the largest evicted class, remove only as many as needed.
        var ofMost = surplus - (sum - numbers[most])
        var evicted: [Bucket] = []
        for (bucket, theoreticalArrival) in arrivals where evicted.count < surplus {
            let size = size(theoreticalArrival)
            guard size < most || (size == most && ofMost > 0) else { continue }
            if size == most { ofMost -= 1 }
            evicted.append(bucket)
        }
        // Removed one by one, because `filter` would rebuild the whole table.
        for bucket in evicted { arrivals[bucket] = nil }
    }
}

/// A block of neighbouring addresses that share a throttle entry if the table is full: an IPv4 /24 or an IPv6 /48.
enum AddressPrefix: Hashable {
    case v4(UInt32)
    case v6(UInt64)
    case local

    init(_ address: Peer.Address) {
        self =
            switch address {
            case .v4(let address): .v4(address >> 8)
            case .v6(let upper, _): .v6(upper >> 16)
            case .local: .local
            }
    }
}
