public import GatewayCore
internal import Synchronization

/// Counts the connections of one listener or several, in all and by peer. Asked once a connection, from any loop.
public final class ConnectionCaps: Sendable {
    private struct Counts {
        var total = 0
        var watch = PeakWatch(least: 128)
        var byPeer: [Peer.Address: Int] = [:]

        mutating func take(for owner: Peer?, atMost most: Int) -> Bool {
            guard let owner, owner.address != .local else { return true }
            let own = byPeer[owner.limitKey, default: 0]
            guard own < most else { return false }
            byPeer[owner.limitKey] = own + 1
            return true
        }

        mutating func giveBack(of owner: Peer?) {
            guard let owner, let own = byPeer[owner.limitKey] else { return }
            byPeer[owner.limitKey] = own > 1 ? own - 1 : nil
        }
    }

    /// Connections that were one too many.
    public let refused = Counter()
    /// The memory that incomplete requests on these connections hold.
    public let requestMemory: RequestMemory
    private let trimmer = HeapTrimmer()
    private let limits: ListenerConfiguration.Connections
    private let counts = Mutex(Counts())

    /// None yet, and at most so many.
    public init(_ limits: ListenerConfiguration.Connections) {
        self.limits = limits
        requestMemory = RequestMemory(limit: limits.requestMemory)
    }

    /// Counts a connection in; false if it is one too many, and then it is not counted.
    ///
    /// - Parameter owner: whose it is; nil where it counts into the total alone.
    func admit(_ owner: Peer?) -> Bool {
        let isAdmitted = count(owner)
        if !isAdmitted { refused.add() }
        return isAdmitted
    }

    private func count(_ owner: Peer?) -> Bool {
        counts.withLock { counts in
            guard counts.total < limits.total, counts.take(for: owner, atMost: limits.perPeer) else { return false }
            counts.total += 1
            _ = counts.watch.hasFallen(to: counts.total)
            return true
        }
    }

    /// Counts an admitted connection out.
    func release(_ owner: Peer?) {
        let hasFallen = counts.withLock { counts in
            counts.total -= 1
            counts.giveBack(of: owner)
            return counts.watch.hasFallen(to: counts.total)
        }
        if hasFallen { trimmer.schedule() }
    }

    /// Counts a connection in the total as somebody's as well; false if it is one too many of that one's.
    func attribute(to owner: Peer) -> Bool {
        counts.withLock { $0.take(for: owner, atMost: limits.perPeer) }
    }

    /// Counts it as nobody's again.
    func endAttribution(to owner: Peer) { counts.withLock { $0.giveBack(of: owner) } }
}
