internal import GatewayCore
internal import NIOCore

/// Connections by the network of their peer, and which of them are idle. Finds the connection to close when room is needed.
///
/// A value without locks or timers. All changes take constant time: idle connections of a network are in a list in the order of
/// becoming idle, and networks are in lists by their number of idle connections.
struct IdleTable<Connection> {
    private struct Entry {
        /// Nil where the entry is free.
        var connection: Connection?
        var network: Int32
        var idleSince = NIODeadline.uptimeNanoseconds(0)
        var isIdle = false
        var wasUsed = false
    }

    private struct Network {
        /// Nil for the connections of nobody's network.
        var key: Peer.Address?
        var connections = 0
        var idleCount = 0
        var idle = IndexLists.List()
    }

    /// How long a connection is spared that has made no call yet, or whose client has not read its last answer.
    static var grace: TimeAmount { .seconds(2) }
    /// How many idle connections are looked at for one that can be closed: of one network, and in all.
    private static var candidates: (ofNetwork: Int, inAll: Int) { (4, 64) }

    private var entries: [Entry] = []
    private var entryLinks = IndexLists()
    private var freeEntries: [Int32] = []
    // The first is that of connections without a network.
    private var networks = [Network(key: nil)]
    private var networkLinks = IndexLists()
    private var freeNetworks: [Int32] = []
    private var networkByKey: [Peer.Address: Int32] = [:]
    /// The networks that have so many idle connections; at 0 that of connections without a network, if it has any.
    private var networksByCount = [IndexLists.List()]
    private var highestCount = 0

    /// Adds a connection, which is not idle.
    ///
    /// - Parameter network: nil for a connection that is closed only if there is no other.
    /// - Returns: The index by which the connection is named until it is removed.
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
        markBusy(index)
        let owner = entries[Int(index)].network
        entries[Int(index)].connection = nil
        freeEntries.append(index)
        networks[Int(owner)].connections -= 1
        if networks[Int(owner)].connections == 0, let key = networks[Int(owner)].key {
            networkByKey[key] = nil
            freeNetworks.append(owner)
        }
    }

    /// Notes that a connection is idle from now on.
    ///
    /// - Parameter wasUsed: whether it has made a call.
    mutating func markIdle(_ index: Int32, since now: NIODeadline, wasUsed: Bool) {
        markBusy(index)
        entries[Int(index)].isIdle = true
        entries[Int(index)].idleSince = now
        entries[Int(index)].wasUsed = wasUsed
        let owner = entries[Int(index)].network
        entryLinks.append(index, to: &networks[Int(owner)].idle)
        count(owner, by: 1)
    }

    /// Notes that a connection is not idle any more, if it was.
    mutating func markBusy(_ index: Int32) {
        guard entries[Int(index)].isIdle else { return }
        entries[Int(index)].isIdle = false
        let owner = entries[Int(index)].network
        entryLinks.remove(index, from: &networks[Int(owner)].idle)
        count(owner, by: -1)
    }

    /// Finds the connection to close: of the network that has most idle ones, the one that has been idle for longest. Marks it as
    /// not idle. Nil where there is none.
    ///
    /// - Parameter hasUnsentBytes: whether a client has not read all of its last answer.
    mutating func takeCandidate(now: NIODeadline, hasUnsentBytes: (Connection) -> Bool) -> Connection? {
        guard let index = candidate(now: now, hasUnsentBytes) else { return nil }
        markBusy(index)
        return entries[Int(index)].connection
    }

    private func candidate(now: NIODeadline, _ hasUnsentBytes: (Connection) -> Bool) -> Int32? {
        var left = Self.candidates.inAll
        for count in stride(from: highestCount, through: 0, by: -1) {
            var owner = networksByCount[count].first
            while owner != IndexLists.none {
                var index = networks[Int(owner)].idle.first
                var leftOfNetwork = Self.candidates.ofNetwork
                while index != IndexLists.none, leftOfNetwork > 0 {
                    let entry = entries[Int(index)]
                    if let connection = entry.connection,
                        entry.idleSince + Self.grace <= now || entry.wasUsed && !hasUnsentBytes(connection)
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

    /// Moves a network to the list for its new number of idle connections.
    private mutating func count(_ network: Int32, by change: Int) {
        let old = networks[Int(network)].idleCount
        let new = old + change
        networks[Int(network)].idleCount = new
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
