internal import GatewayCore

/// A bounded table of pairs of user and address with a successful login. Later failed logins of a pair are charged to
/// its entry.
///
/// A user with `maximumPerUser` addresses loses the own oldest one. So no account evicts the addresses of other users,
/// who would then share the limits of strangers.
struct KnownDevices {
    struct Pair: Hashable {
        let user: UserName
        let address: Peer.Address
    }

    private struct Entry {
        var succeeded: Int64
        var arrival: Int64?
    }

    /// The time for which a successful login makes a pair known, in nanoseconds: 30 days.
    static let memory: Int64 = 30 * 86_400 * 1_000_000_000
    /// The maximum number of addresses of one user.
    static let maximumPerUser = 256

    let rate: GCRA
    /// The number of pairs.
    private(set) var count = 0
    private var entries: [UserName: [Peer.Address: Entry]] = [:]
    private let capacity: Int

    init(rate: GCRA, capacity: Int) {
        self.rate = rate
        self.capacity = max(1, capacity)
    }

    func contains(_ pair: Pair, now: Int64) -> Bool {
        entry(of: pair).map { $0.succeeded + Self.memory > now } ?? false
    }

    func wait(for pair: Pair, now: Int64) -> Int64 { rate.wait(arrival: entry(of: pair)?.arrival, now: now) }

    mutating func charge(_ pair: Pair, now: Int64) {
        let arrival = rate.charged(arrival: entry(of: pair)?.arrival, now: now)
        entries[pair.user]?[pair.address]?.arrival = arrival
    }

    mutating func refund(_ pair: Pair) {
        guard let arrival = entry(of: pair)?.arrival else { return }
        entries[pair.user]?[pair.address]?.arrival = arrival - rate.interval
    }

    /// Records a successful login. Earlier charges stay, because the owner of one password may guess others.
    mutating func succeeded(_ pair: Pair, now: Int64) {
        guard entry(of: pair) == nil else {
            entries[pair.user]?[pair.address]?.succeeded = now
            return
        }
        if let addresses = entries[pair.user], addresses.count >= Self.maximumPerUser {
            if let oldest = addresses.min(by: { $0.value.succeeded < $1.value.succeeded })?.key {
                remove(Pair(user: pair.user, address: oldest))
            }
        } else if count >= capacity {
            evict()
        }
        entries[pair.user, default: [:]][pair.address] = Entry(succeeded: now)
        count += 1
    }

    mutating func lift(where matches: (Pair) -> Bool) -> Int {
        var lifted = 0
        for pair in pairs where matches(pair) && entry(of: pair)?.arrival != nil {
            entries[pair.user]?[pair.address]?.arrival = nil
            lifted += 1
        }
        return lifted
    }

    mutating func forget(_ user: UserName) { count -= entries.removeValue(forKey: user)?.count ?? 0 }

    func blocked(now: Int64) -> [(pair: Pair, wait: Int64)] {
        pairs.compactMap { pair in
            let wait = wait(for: pair, now: now)
            return wait > 0 ? (pair, wait) : nil
        }
    }

    private var pairs: [Pair] {
        entries.flatMap { user, addresses in addresses.keys.map { Pair(user: user, address: $0) } }
    }

    private func entry(of pair: Pair) -> Entry? { entries[pair.user]?[pair.address] }

    private mutating func remove(_ pair: Pair) {
        guard entries[pair.user]?.removeValue(forKey: pair.address) != nil else { return }
        count -= 1
        if entries[pair.user]?.isEmpty == true { entries[pair.user] = nil }
    }

    /// Evicts a sixteenth of the entries with the oldest successes, without sorting the table.
    private mutating func evict() {
        let surplus = capacity / 16 + 1
        // The iteration order of a dictionary is random, so the first thousand users are a sample. One entry of each
        // keeps a user with many addresses from dominating it.
        let sample = entries.values.prefix(1024).compactMap(\.values.first?.succeeded).sorted()
        guard let oldEnough = sample.dropFirst(sample.count / 16).first else { return }
        var going: [Pair] = []
        for (user, addresses) in entries {
            for (address, entry) in addresses where entry.succeeded <= oldEnough {
                going.append(Pair(user: user, address: address))
            }
            if going.count >= surplus { break }
        }
        for pair in going.prefix(surplus) { remove(pair) }
    }
}
