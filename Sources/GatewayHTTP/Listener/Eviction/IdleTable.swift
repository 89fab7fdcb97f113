internal import GatewayCore
internal import NIOCore

/// A table of connections, grouped by the network of the peer. It selects the idle connection to close when room is
/// needed.
///
/// It uses no locks or timers. Every change takes constant time: each network has a list of its idle connections in the
/// order in which they became idle, and the networks are in lists by their number of idle connections.
struct IdleTable<Connection> {
    private struct Entry {
        /// The connection; nil if the entry is free.
        var connection: Connection?
        var network: Int32
        var idleSince = NIODeadline.uptimeNanoseconds(0)
        var isIdle = false
        var wasUsed = false
    }

    private struct Network {
        /// The address of the network; nil for connections that belong to no network.
        var key: Peer.Address?
        var connections = 0
        var idleCount = 0
        var idle = IndexLists.List()
    }

    /// The time for which a connection is protected if it has served no call, or if its client has not read the last
    /// response.
    static var grace: TimeAmount { .seconds(2) }
    /// The maximum number of idle connections that one search examines, in one network and in total.
    private static var candidates: (ofNetwork: Int, inAll: Int) { (4, 64) }

    private var entries: [Entry] = []
    private var entryLinks = IndexLists()
    private var freeEntries: [Int32] = []
    // The first entry stands for the connections that belong to no network.
    private var networks = [Network(key: nil)]
    private var networkLinks = IndexLists()
    private var freeNetworks: [Int32] = []
    private var networkByKey: [Peer.Address: Int32] = [:]
    /// The networks with idle connections, in one list for each number of idle connections. List 0 contains only the
    /// first entry of `networks`, and only while one of its connections is idle. A search examines that list last.
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

    /// Records that a connection is idle from now on.
    ///
    /// - Parameter wasUsed: Whether the connection has served a call.
    mutating func markIdle(_ index: Int32, since now: NIODeadline, wasUsed: Bool) {
        markBusy(index)
        entries[Int(index)].isIdle = true
        entries[Int(index)].idleSince = now
        entries[Int(index)].wasUsed = wasUsed
        let owner = entries[Int(index)].network
        entryLinks.append(index, to: &networks[Int(owner)].idle)
        changeIdleCount(of: owner, by: 1)
    }

    /// Records that a connection is busy. Has no effect if it is not idle.
    mutating func markBusy(_ index: Int32) {
        guard entries[Int(index)].isIdle else { return }
        entries[Int(index)].isIdle = false
        let owner = entries[Int(index)].network
        entryLinks.remove(index, from: &networks[Int(owner)].idle)
        changeIdleCount(of: owner, by: -1)
    }

    /// Returns the connection to close and marks it as busy; nil if there is none. It takes the longest idle connection
    /// of the network with the most idle connections.
    ///
    /// - Parameter hasUnsentBytes: Returns whether the client has not yet read its last response completely.
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

    /// Changes the number of idle connections of a network and moves the network to the list for that number.
    private mutating func changeIdleCount(of network: Int32, by change: Int) {
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
