internal import GatewayCore

/// Where users have logged in from before: pairs of user and address, bounded, with what their failures have run up since.
struct KnownPairs {
    struct Pair: Hashable {
        let user: UserName
        let address: Peer.Address
    }

    private struct Entry {
        var succeeded: Int64
        var arrival: Int64?
    }

    /// How long a success counts, in nanoseconds: 30 days.
    static let memory: Int64 = 30 * 86_400 * 1_000_000_000

    let rate: CellRate
    private var entries: [Pair: Entry] = [:]
    private let capacity: Int

    init(rate: CellRate, capacity: Int) {
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

    mutating func giveBack(_ pair: Pair) {
        guard let arrival = entries[pair]?.arrival else { return }
        entries[pair]?.arrival = arrival - rate.interval
    }

    /// Notes a success. What was run up before stays: who knows one password may try others.
    mutating func succeeded(_ pair: Pair, now: Int64) {
        if entries[pair] == nil, entries.count >= capacity { makeRoom(now) }
        entries[pair, default: Entry(succeeded: now)].succeeded = now
    }

    mutating func lift(where isMeant: (Pair) -> Bool) -> Int {
        var lifted = 0
        for pair in entries.keys where isMeant(pair) && entries[pair]?.arrival != nil {
            entries[pair]?.arrival = nil
            lifted += 1
        }
        return lifted
    }

    mutating func forget(_ user: UserName) {
        for pair in Array(entries.keys.lazy.filter { $0.user == user }) { entries[pair] = nil }
    }

    func spent(now: Int64) -> [(pair: Pair, wait: Int64)] {
        entries.compactMap { pair, entry in
            let wait = rate.wait(arrival: entry.arrival, now: now)
            return wait > 0 ? (pair, wait) : nil
        }
    }

    /// Forgets one in 16, of those whose success was longest ago: seldom, and without sorting them all.
    private mutating func makeRoom(_ now: Int64) {
        let surplus = capacity / 16 + 1
        // The order of a dictionary is random, so its first thousand stand for all.
        let sample = entries.values.prefix(1024).map(\.succeeded).sorted()
        guard let oldEnough = sample.dropFirst(sample.count / 16).first else { return }
        // Taken out one by one: to filter would be to make the whole table anew.
        let going = Array(entries.lazy.filter { $0.value.succeeded <= oldEnough }.prefix(surplus).map(\.key))
        for pair in going { entries[pair] = nil }
    }
}
