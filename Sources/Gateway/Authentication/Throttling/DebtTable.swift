internal import GatewayCore

/// What failed logins have run up, by key, bounded.
///
/// Where it is full, the least debts are forgotten first, and newcomers without a place share one for each block of addresses.
struct DebtTable<Key: Hashable & Sendable> {
    /// Where a debt stands: with its key, or with its neighbours.
    enum Place: Hashable, Sendable {
        case own(Key)
        case shared(AddressBlock)
        case everybody
    }

    let rate: CellRate
    // Theoretical arrival times, as `CellRate` has them; what lies in the past is no debt.
    private var arrivals: [Place: Int64] = [:]
    private let capacity: Int
    // One place in 16 is kept for those that are shared.
    private let capacityOfOwn: Int
    private var mayClearAt = Int64.min

    /// Looking through a full table takes about a millisecond, so it is done no more often than this.
    private static var pause: Int64 { 1_000_000_000 }

    init(rate: CellRate, capacity: Int) {
        self.rate = rate
        self.capacity = max(3, capacity)
        capacityOfOwn = max(1, self.capacity / 16 * 15)
    }

    var count: Int { arrivals.count }

    /// The place of a key: its own while it has one or there is room, else a shared one.
    mutating func place(for key: Key, in block: AddressBlock, now: Int64) -> Place {
        let own = Place.own(key)
        if arrivals[own] != nil || arrivals.count < capacityOfOwn { return own }
        clear(now)
        if arrivals.count < capacityOfOwn { return own }
        let shared = Place.shared(block)
        if arrivals[shared] != nil || arrivals.count < capacity - 1 { return shared }
        return .everybody
    }

    /// How long until one more failure is affordable: 0 for now.
    func wait(at place: Place, now: Int64) -> Int64 { rate.wait(arrival: arrivals[place], now: now) }

    mutating func charge(_ place: Place, now: Int64) {
        arrivals[place] = rate.charged(arrival: arrivals[place], now: now)
    }

    mutating func giveBack(_ place: Place, now: Int64) {
        guard let arrival = arrivals[place] else { return }
        arrivals[place] = arrival - rate.interval > now ? arrival - rate.interval : nil
    }

    /// Forgets debts, and says how many that were.
    mutating func lift(where isMeant: (Key) -> Bool) -> Int {
        let before = arrivals.count
        arrivals = arrivals.filter { place, _ in
            switch place {
            case .own(let key): !isMeant(key)
            case .shared, .everybody: true
            }
        }
        return before - arrivals.count
    }

    /// Forgets all debts, those of neighbours too, and says how many that were.
    mutating func liftAll() -> Int {
        defer { arrivals = [:] }
        return arrivals.count
    }

    /// Whoever has to wait now, and how long.
    func spent(now: Int64) -> [(place: Place, wait: Int64)] {
        arrivals.compactMap { place, arrival in
            let wait = rate.wait(arrival: arrival, now: now)
            return wait > 0 ? (place, wait) : nil
        }
    }

    /// Makes room for one key in 16: what is paid off goes first, then the least debts.
    private mutating func clear(_ now: Int64) {
        guard now >= mayClearAt else { return }
        mayClearAt = now + Self.pause
        let surplus = max(1, capacityOfOwn / 16)
        // Debts by 64ths of the largest possible one: the order within a 64th does not matter.
        let part = rate.memory / 62 + 1
        func size(_ arrival: Int64) -> Int { arrival <= now ? 0 : Int(min(63, (arrival - now) / part + 1)) }
        var numbers = [Int](repeating: 0, count: 64)
        for arrival in arrivals.values { numbers[size(arrival)] += 1 }
        var (most, sum) = (0, numbers[0])
        while sum < surplus, most < 63 {
            most += 1
            sum += numbers[most]
        }
        // Of the largest that go, only as many as are needed for the number.
        var ofMost = surplus - (sum - numbers[most])
        var going: [Place] = []
        for (place, arrival) in arrivals where going.count < surplus {
            let size = size(arrival)
            guard size < most || (size == most && ofMost > 0) else { continue }
            if size == most { ofMost -= 1 }
            going.append(place)
        }
        // Taken out one by one: to filter would be to make the whole table anew.
        for place in going { arrivals[place] = nil }
    }
}
