internal import GatewayCore

/// The limiter's memory: theoretical arrival times by key, in two generations.
///
/// What is touched moves into the present generation. A generation lasts at least as long as any limit remembers, so when the
/// older one is dropped, every key in it has its full burst again and forgetting it changes nothing. When the present one is
/// full, a key of the older one stays there, and keys without a place share one for each limit: strangers then limit each
/// other, and nobody gets more than a second burst in a generation.
struct LimitTable {
    /// A limit by its index, and for whom it counts.
    enum Key: Hashable {
        case named(NamedKey)
        case address(limit: Int, Peer.Address)
        case overflow(limit: Int)

        var limit: Int {
            switch self {
            case .named(let key): key.limit
            case .address(let limit, _), .overflow(let limit): limit
            }
        }
    }

    struct NamedKey: Hashable {
        let limit: Int
        var caller: UserName?
        var recipient: UserName?
        var service: PushService?
    }

    struct Charge {
        var key: Key
        let rate: CellRate
        /// How many calls it stands for.
        var cost = 1
    }

    /// A key that has nothing left, and how long until it has enough.
    typealias Spent = (key: Key, wait: Int64)

    private var present: [Key: Int64] = [:]
    private var past: [Key: Int64] = [:]
    private let capacity: Int
    private let memory: Int64
    private var turnsAt: Int64

    init(capacity: Int, memory: Int64, now: Int64) {
        self.capacity = max(2, capacity)
        self.memory = memory
        self.turnsAt = now + memory
    }

    /// Charges all, or none and says which was spent and for how long.
    mutating func admit(_ charges: [Charge], now: Int64) -> Spent? {
        turn(now)
        if let spent = spent(among: charges, now: now) { return spent }
        take(charges, now: now)
        return nil
    }

    /// Charges what is common to many, or nothing at all and says what was spent; then charges all of each, or none of it and says
    /// what was spent there.
    mutating func admit(
        _ common: [Charge], each: [[Charge]], now: Int64
    ) -> (spent: Spent?, spentOfEach: [Spent?]) {
        if let spent = admit(common, now: now) { return (spent, []) }
        return (nil, each.map { admit($0, now: now) })
    }

    /// What `admit` would answer, without charging anything.
    func look(_ charges: [Charge], now: Int64) -> Spent? {
        var longest: Spent?
        for charge in charges {
            let wait = charge.rate.wait(arrival: arrival(of: charge.key, now: now), now: now, cost: charge.cost)
            if wait > longest?.wait ?? 0 { longest = (charge.key, wait) }
        }
        return longest
    }

    /// What `admit` would answer for many, without charging anything.
    func look(_ common: [Charge], each: [[Charge]], now: Int64) -> (spent: Spent?, spentOfEach: [Spent?]) {
        if let spent = look(common, now: now) { return (spent, []) }
        return (nil, each.map { look($0, now: now) })
    }

    /// The theoretical arrival time that a charge at this time would find.
    func arrival(of key: Key, now: Int64) -> Int64? {
        // A turn that is due makes room for every key and forgets what is past.
        if now >= turnsAt { return present[key] }
        return arrival(place(for: key))
    }

    private func spent(among charges: [Charge], now: Int64) -> Spent? {
        var longest: Spent?
        for charge in charges {
            let key = place(for: charge.key)
            let wait = charge.rate.wait(arrival: arrival(key), now: now, cost: charge.cost)
            if wait > longest?.wait ?? 0 { longest = (charge.key, wait) }
        }
        return longest
    }

    private mutating func take(_ charges: [Charge], now: Int64) {
        for charge in charges {
            let key = place(for: charge.key)
            set(charge.rate.charged(arrival: arrival(key), now: now, cost: charge.cost), for: key)
        }
    }

    /// Takes charges back.
    mutating func giveBack(_ charges: [Charge]) {
        for charge in charges {
            let key = place(for: charge.key)
            if let arrival = arrival(key) { set(arrival - charge.rate.time(of: charge.cost), for: key) }
        }
    }

    private func arrival(_ key: Key) -> Int64? { present[key] ?? past[key] }

    /// How many places are taken, in both generations.
    var count: Int { present.count + past.count }

    private func place(for key: Key) -> Key {
        if hasRoom || arrival(key) != nil { return key }
        return .overflow(limit: key.limit)
    }

    private var hasRoom: Bool { present.count < capacity / 2 }

    private mutating func set(_ arrival: Int64, for key: Key) {
        // Moving a key of the older generation into a full one would let the table grow with every generation.
        if !hasRoom, present[key] == nil, past[key] != nil {
            past[key] = arrival
        } else {
            present[key] = arrival
        }
    }

    private mutating func turn(_ now: Int64) {
        guard now >= turnsAt else { return }
        past = present
        present = [:]
        turnsAt = now + memory
    }
}
