internal import GatewayCore

/// A bounded table of pairs of user and address with a successful login. Later failed logins of a pair are charged to
/// its entry.
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

    let rate: GCRA
    private var entries: [Pair: Entry] = [:]
    private let capacity: Int

    init(rate: GCRA, capacity: Int) {
        self.rate = rate
        self.capacity = max(1, capacity)
    }

    var count: Int { entries.count }

    func contains(_ pair: Pair, now: Int64) -> Bool {
        entries[pair].map { $0.succeeded + Self.memory > now } ?? false
    }

    func wait(for pair: Pair, now: Int64) -> Int64 { rate.wait(arrival: entries[pair]?.arrival, now: now) }

    mutating func charge(_ pair: Pair, now: Int64) {
        let arrival = rate.charged(arrival: entries[pair]?.arrival, now: now)
        entries[pair]?.arrival = arrival
    }

    mutating func refund(_ pair: Pair) {
        guard let arrival = entries[pair]?.arrival else { return }
        entries[pair]?.arrival = arrival - rate.interval
    }

    /// Records a successful login. Earlier charges stay, because the owner of one password may guess others.
    mutating func succeeded(_ pair: Pair, now: Int64) {
        if entries[pair] == nil, entries.count >= capacity { evict(now) }
        entries[pair, default: Entry(succeeded: now)].succeeded = now
    }

    mutating func lift(where matches: (Pair) -> Bool) -> Int {
        var lifted = 0
        for pair in entries.keys where matches(pair) && entries[pair]?.arrival != nil {
            entries[pair]?.arrival = nil
            lifted += 1
        }
        return lifted
    }

    mutating func forget(_ user: UserName) {
        for pair in Array(entries.keys.lazy.filter { $0.user == user }) { entries[pair] = nil }
    }

    func blocked(now: Int64) -> [(pair: Pair, wait: Int64)] {
        entries.compactMap { pair, entry in
            let wait = rate.wait(arrival: entry.arrival, now: now)
            return wait > 0 ? (pair, wait) : nil
        }
    }

    /// Evicts a sixteenth of the entries with the oldest successes, without sorting the table.
    private mutating func evict(_ now: Int64) {
        let surplus = capacity / 16 + 1
        // The iteration order of a dictionary is random, so the first thousand entries are a sample.
        let sample = entries.values.prefix(1024).map(\.succeeded).sorted()
        guard let oldEnough = sample.dropFirst(sample.count / 16).first else { return }
        // Removed one by one, because `filter` would rebuild the whole table.
        let going = Array(entries.lazy.filter { $0.value.succeeded <= oldEnough }.prefix(surplus).map(\.key))
        for pair in going { entries[pair] = nil }
    }
}
