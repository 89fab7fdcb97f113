internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A table of connections, grouped by the network of the peer. It selects the connection to close when room is needed.
///
/// It uses no locks or timers. Every change takes constant time: each network has a list of its candidates, the longest
/// waiting first, and the networks are in lists by their number of candidates.
///
/// A connection has one of three states:
///
/// - busy: A call is in progress. The connection is no candidate. → idle or stalled when the call has its response.
/// - idle: No request has begun. → stalled when one begins; → busy when one is complete.
/// - stalled: A request is incomplete, or the client has not taken a response. → idle when neither applies; → busy when
///   a request is complete. Without this state, one byte would protect a connection.
struct IdleTable<Connection> {
    private struct Entry {
        /// The connection; nil if the entry is free.
        var connection: Connection?
        var network: Int32
        /// The time from which a grace period counts.
        var waitsSince = NIODeadline.uptimeNanoseconds(0)
        /// Whether the connection is idle or stalled.
        var isCandidate = false
        var isStalled = false
        /// Whether a request was complete.
        var wasUsed = false
        /// Whether a request has begun since the last complete one and has restarted the grace period.
        var hasRestarted = false
    }

    private struct Network {
        /// The address of the network; nil for connections that belong to no network.
        var key: Peer.Address?
        var connections = 0
        var candidateCount = 0
        var candidates = IndexLists.List()
    }

    /// The time for which a connection is protected if it has served no call, or if its client has not read the last
    /// response.
    static var grace: TimeAmount { .seconds(2) }
    /// The time for which a stalled connection that has served a call is protected.
    static var stalledGrace: TimeAmount { .seconds(5) }
    /// The maximum number of connections that one search examines, in one network and in total.
    private static var candidates: (ofNetwork: Int, inAll: Int) { (4, 64) }

    private var entries: [Entry] = []
    private var entryLinks = IndexLists()
    private var freeEntries: [Int32] = []
    // The first entry stands for the connections that belong to no network.
    private var networks = [Network(key: nil)]
    private var networkLinks = IndexLists()
    private var freeNetworks: [Int32] = []
    private var networkByKey: [Peer.Address: Int32] = [:]
    /// The networks with candidates, in one list for each number of candidates. List 0 contains only the first entry of
    /// `networks`, and only while one of its connections is a candidate. A search examines that list last.
    private var networksByCount = [IndexLists.List()]
    private var highestCount = 0

    /// Adds a connection, which counts as busy.
    ///
    /// - Parameter network: The network of the peer; nil for a connection of a trusted proxy or a Unix socket, which is
    ///   closed only if there is no other candidate.
    /// - Returns: The index that identifies the connection until it is removed.
    mutating func add(_ connection: Connection, of network: Peer.Address?) -> Int32 {
        let owner = index(of: network)
        networks[Int(owner)].connections += 1
        let entry = Entry(connection: connection, network: owner)
        if let free = freeEntries.popLast() {
            entries[Int(free)] = entry
            return free
        }
        entries.append(entry)
        return Int32(entries.count - 1)
    }

    /// Removes a connection.
    mutating func remove(_ index: Int32) {
        withdraw(index)
        let owner = entries[Int(index)].network
        entries[Int(index)].connection = nil
        freeEntries.append(index)
        networks[Int(owner)].connections -= 1
        if networks[Int(owner)].connections == 0, let key = networks[Int(owner)].key {
            networkByKey[key] = nil
            freeNetworks.append(owner)
        }
    }

    /// Records that a connection is idle. A stalled connection keeps its place among the candidates.
    mutating func markIdle(_ index: Int32, since now: NIODeadline) {
        entries[Int(index)].isStalled = false
        if !entries[Int(index)].isCandidate { enlist(index, since: now) }
    }

    /// Records that a connection is stalled. Has no effect if it is.
    ///
    /// The first request that begins after a complete one restarts the grace period, so that a connection is not
    /// closed at the start of an upload. Later ones do not, such as further HTTP/2 streams after a reset. Without a
    /// complete request the grace period counts from the start of the connection.
    mutating func markStalled(_ index: Int32, since now: NIODeadline) {
        let entry = entries[Int(index)]
        if entry.isStalled { return }
        entries[Int(index)].isStalled = true
        if !entry.isCandidate {
            enlist(index, since: now)
        } else if entry.wasUsed, !entry.hasRestarted {
            entries[Int(index)].hasRestarted = true
            entries[Int(index)].waitsSince = now
            entryLinks.remove(index, from: &networks[Int(entry.network)].candidates)
            entryLinks.append(index, to: &networks[Int(entry.network)].candidates)
        }
    }

    /// Records that a connection is busy: a request is complete.
    mutating func markBusy(_ index: Int32) {
        withdraw(index)
        entries[Int(index)].isStalled = false
        entries[Int(index)].wasUsed = true
        entries[Int(index)].hasRestarted = false
    }

    private mutating func enlist(_ index: Int32, since now: NIODeadline) {
        entries[Int(index)].isCandidate = true
        entries[Int(index)].waitsSince = now
        let owner = entries[Int(index)].network
        entryLinks.append(index, to: &networks[Int(owner)].candidates)
        changeCandidateCount(of: owner, by: 1)
    }

    private mutating func withdraw(_ index: Int32) {
        guard entries[Int(index)].isCandidate else { return }
        entries[Int(index)].isCandidate = false
        let owner = entries[Int(index)].network
        entryLinks.remove(index, from: &networks[Int(owner)].candidates)
        changeCandidateCount(of: owner, by: -1)
    }

    /// Returns the connection to close and withdraws it; nil if there is none. It takes the longest waiting connection
    /// of the network with the most candidates.
    ///
    /// - Parameter hasUnsentBytes: Returns whether the client has not yet read its last response completely.
    mutating func removeCandidate(now: NIODeadline, hasUnsentBytes: (Connection) -> Bool) -> Connection? {
        guard let index = candidate(now: now, hasUnsentBytes) else { return nil }
        withdraw(index)
        return entries[Int(index)].connection
    }

    private func candidate(now: NIODeadline, _ hasUnsentBytes: (Connection) -> Bool) -> Int32? {
        var left = Self.candidates.inAll
        for count in stride(from: highestCount, through: 0, by: -1) {
            var owner = networksByCount[count].first
            while owner != IndexLists.none {
                var index = networks[Int(owner)].candidates.first
                var leftOfNetwork = Self.candidates.ofNetwork
                while index != IndexLists.none, leftOfNetwork > 0 {
                    let entry = entries[Int(index)]
                    let isProtected = entry.waitsSince + Self.grace(of: entry) > now
                    if let connection = entry.connection,
                        !isProtected || !entry.isStalled && entry.wasUsed && !hasUnsentBytes(connection)
                    {
                        return index
                    }
                    index = entryLinks.next(after: index)
                    (left, leftOfNetwork) = (left - 1, leftOfNetwork - 1)
                    if left == 0 { return nil }
                }
                owner = networkLinks.next(after: owner)
            }
        }
        return nil
    }

    private static func grace(of entry: Entry) -> TimeAmount {
        entry.isStalled && entry.wasUsed ? stalledGrace : grace
    }

    private mutating func index(of network: Peer.Address?) -> Int32 {
        guard let network else { return 0 }
        if let known = networkByKey[network] { return known }
        let new: Int32
        if let free = freeNetworks.popLast() {
            networks[Int(free)] = Network(key: network)
            new = free
        } else {
            networks.append(Network(key: network))
            new = Int32(networks.count - 1)
        }
        networkByKey[network] = new
        return new
    }

    /// Changes the number of candidates of a network and moves the network to the list for that number.
    private mutating func changeCandidateCount(of network: Int32, by change: Int) {
        let old = networks[Int(network)].candidateCount
        let new = old + change
        networks[Int(network)].candidateCount = new
        if networks[Int(network)].key == nil {
            if old == 0 { networkLinks.append(network, to: &networksByCount[0]) }
            if new == 0 { networkLinks.remove(network, from: &networksByCount[0]) }
            return
        }
        if old > 0 { networkLinks.remove(network, from: &networksByCount[old]) }
        if new > 0 {
            if new == networksByCount.count { networksByCount.append(IndexLists.List()) }
            networkLinks.append(network, to: &networksByCount[new])
        }
        if new > highestCount {
            highestCount = new
        } else if old == highestCount, networksByCount[old].isEmpty {
            highestCount = new
        }
    }
}
