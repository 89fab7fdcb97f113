public import GatewayCore
internal import NIOCore
internal import Synchronization

/// Counts the connections of one listener or several, in all and by peer. Asked once a connection, from any loop.
///
/// Where connections are nearly as many as there may be, an idle one is closed for each newcomer (`ConnectionLimit+Eviction`).
public final class ConnectionLimit: Sendable {
    /// What becomes of a new connection.
    enum Admission {
        /// The connection is counted.
        case admitted
        /// The connection is counted, and an idle one should be closed.
        case admittedNearlyFull
        /// The connection is not counted: there are as many as there may be.
        case full
        /// The connection is not counted: its peer or the peer's network has as many as it may have.
        case tooManyOfPeer
    }

    private struct Counts {
        var total = 0
        /// Connections of `total` that were told to close for others.
        var closing = 0
        var watch = PeakDetector(least: 128)
        var byPeer: [Peer.Address: Int] = [:]
        /// IPv6 alone: there, one client may have many addresses.
        var byNetwork: [Peer.Address: Int] = [:]

        mutating func acquire(for owner: Peer?, atMost most: Int) -> Bool {
            guard let owner, owner.address != .local else { return true }
            let own = byPeer[owner.limitKey, default: 0]
            guard own < most else { return false }
            if case .v6 = owner.address {
                let neighbours = byNetwork[owner.network, default: 0]
                guard neighbours < most * ConnectionLimit.peersPerNetwork else { return false }
                byNetwork[owner.network] = neighbours + 1
            }
            byPeer[owner.limitKey] = own + 1
            return true
        }

        mutating func refund(of owner: Peer?) {
            guard let owner, let own = byPeer[owner.limitKey] else { return }
            byPeer[owner.limitKey] = own > 1 ? own - 1 : nil
            if let neighbours = byNetwork[owner.network] {
                byNetwork[owner.network] = neighbours > 1 ? neighbours - 1 : nil
            }
        }
    }

    /// As many connections as so many peers may have, one IPv6 network may have.
    private static let peersPerNetwork = 4

    /// Connections that were one too many.
    public let refused = Counter()
    /// Idle connections that were closed to make room for others.
    public let evicted = Counter()
    /// The memory that incomplete requests on these connections hold.
    public let requestMemory: RequestMemory
    private let trimmer = HeapTrimmer()
    private let limits: ListenerConfiguration.Connections
    /// Beyond so many connections idle ones are closed.
    private let nearlyFull: Int
    private let counts = Mutex(Counts())
    private let isBeyond = Atomic(false)
    /// One of each event loop.
    let idleConnections = Mutex<[NIOLoopBound<IdleConnections>]>([])

    /// None yet, and at most so many.
    public init(_ limits: ListenerConfiguration.Connections) {
        self.limits = limits
        nearlyFull = limits.total / 10 * 9 + limits.total % 10 * 9 / 10
        requestMemory = RequestMemory(limit: limits.requestMemory)
    }

    /// Whether connections are nearly as many as there may be. From any thread, without a lock.
    var isNearlyFull: Bool { isBeyond.load(ordering: .relaxed) }

    /// Counts a connection in, if it may be there.
    ///
    /// - Parameter owner: whose it is; nil where it counts into the total alone.
    func admit(_ owner: Peer?) -> Admission {
        counts.withLock { counts in
            // First: a peer that has all it may have must not have the connections of others closed.
            guard counts.acquire(for: owner, atMost: limits.perPeer) else { return .tooManyOfPeer }
            guard counts.total - counts.closing < limits.total else {
                counts.refund(of: owner)
                return .full
            }
            counts.total += 1
            _ = counts.watch.hasFallen(to: counts.total)
            return note(counts) ? .admittedNearlyFull : .admitted
        }
    }

    /// Counts an admitted connection out.
    func release(_ owner: Peer?) {
        let hasFallen = counts.withLock { counts in
            counts.total -= 1
            counts.closing = max(0, counts.closing - 1)
            counts.refund(of: owner)
            _ = note(counts)
            return counts.watch.hasFallen(to: counts.total)
        }
        if hasFallen { trimmer.schedule() }
    }

    /// Notes that an admitted connection, which is still counted, is about to be released for another.
    func noteEviction() {
        evicted.add()
        counts.withLock { counts in
            counts.closing += 1
            _ = note(counts)
        }
    }

    /// Counts a connection in the total as somebody's as well; false if it is one too many of that one's.
    func attribute(to owner: Peer) -> Bool {
        counts.withLock { $0.acquire(for: owner, atMost: limits.perPeer) }
    }

    /// Counts it as nobody's again.
    func endAttribution(to owner: Peer) { counts.withLock { $0.refund(of: owner) } }

    private func note(_ counts: Counts) -> Bool {
        let isBeyond = counts.total - counts.closing > nearlyFull
        if isBeyond != isNearlyFull { self.isBeyond.store(isBeyond, ordering: .relaxed) }
        return isBeyond
    }
}
