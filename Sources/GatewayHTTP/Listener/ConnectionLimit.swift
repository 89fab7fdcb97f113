internal import GatewayCore
public import GatewaySupport
internal import NIOCore
internal import Synchronization

/// The limits on the connections of one or more listeners, in total, for each peer and for each IPv6 network. It is
/// used from any loop, once for each connection.
///
/// When the total is nearly reached, an idle connection is closed for each new one (`ConnectionLimit+Eviction`).
public final class ConnectionLimit: Sendable {
    /// The decision on a new connection.
    enum Admission {
        /// The connection is counted.
        case admitted
        /// The connection is counted, and an idle one should be closed.
        case admittedNearlyFull
        /// The connection is not counted, because the total is reached.
        case full
        /// The connection is not counted, because its peer or the network of its peer has reached its limit.
        case tooManyOfPeer
    }

    private struct Counts {
        var total = 0
        /// The number of connections within `total` that are being closed for others.
        var closing = 0
        var peak = DropDetector(minimumDecrease: 128)
        var byPeer: [Peer.Address: Int] = [:]
        /// Connections by network, only for IPv6, where one client may have many addresses.
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

        mutating func release(for owner: Peer?) {
            guard let owner, let own = byPeer[owner.limitKey] else { return }
            byPeer[owner.limitKey] = own > 1 ? own - 1 : nil
            if let neighbours = byNetwork[owner.network] {
                byNetwork[owner.network] = neighbours > 1 ? neighbours - 1 : nil
            }
        }
    }

    /// The connection limit of an IPv6 network, as a multiple of the limit of a peer.
    private static let peersPerNetwork = 4

    /// The number of rejected connections.
    public let refused = Counter()
    /// The number of idle connections that were closed to make room for others.
    public let evicted = Counter()
    /// The HTTP/2 connections that were closed because their client sent too many frames without use.
    public let frameLimit = ExceededLimit()
    /// The memory limit for incomplete requests and unread responses on these connections.
    public let requestMemory: RequestMemory
    private let trimmer = HeapTrimmer()
    private let limits: ListenerConfiguration.Connections
    /// The eviction threshold: the number of connections above which idle connections are closed.
    private let nearlyFull: Int
    private let counts = Mutex(Counts())
    private let isAboveThreshold = Atomic(false)
    /// The idle connections of each event loop.
    let idleConnections = Mutex<[NIOLoopBound<EvictionCandidates>]>([])

    /// Creates limits with no connections counted.
    public init(_ limits: ListenerConfiguration.Connections) {
        self.limits = limits
        nearlyFull = limits.total / 10 * 9 + limits.total % 10 * 9 / 10
        requestMemory = RequestMemory(limit: limits.requestMemory, trimmer: trimmer)
    }

    /// Whether the total is nearly reached. May be read from any thread, without a lock.
    var isNearlyFull: Bool { isAboveThreshold.load(ordering: .relaxed) }

    /// Counts a connection in if the limits allow it.
    ///
    /// - Parameter owner: The peer that the connection counts for; nil counts it in the total only.
    func admit(_ owner: Peer?) -> Admission {
        counts.withLock { counts in
            // The peer's limit comes first: a peer at its limit must not cause the eviction of other connections.
            guard counts.acquire(for: owner, atMost: limits.perPeer) else { return .tooManyOfPeer }
            guard counts.total - counts.closing < limits.total else {
                counts.release(for: owner)
                return .full
            }
            counts.total += 1
            _ = counts.peak.record(counts.total)
            return updateThreshold(counts) ? .admittedNearlyFull : .admitted
        }
    }

    /// Counts an admitted connection out.
    func release(_ owner: Peer?) {
        let hasFallen = counts.withLock { counts in
            counts.total -= 1
            counts.closing = max(0, counts.closing - 1)
            counts.release(for: owner)
            _ = updateThreshold(counts)
            return counts.peak.record(counts.total)
        }
        if hasFallen { trimmer.schedule() } else { trimmer.scheduleIfGrown() }
    }

    /// Records that an admitted connection is being closed for another. It stays counted until `release`.
    func recordEviction() {
        evicted.add()
        counts.withLock { counts in
            counts.closing += 1
            _ = updateThreshold(counts)
        }
    }

    /// Counts a connection, which is already in the total, for a peer. Returns false if the peer has reached its limit.
    func attribute(to owner: Peer) -> Bool {
        counts.withLock { $0.acquire(for: owner, atMost: limits.perPeer) }
    }

    /// Reverts `attribute(to:)`.
    func removeAttribution(to owner: Peer) { counts.withLock { $0.release(for: owner) } }

    /// Stores whether the total is above the eviction threshold, and returns the same.
    private func updateThreshold(_ counts: Counts) -> Bool {
        let isAboveThreshold = counts.total - counts.closing > nearlyFull
        if isAboveThreshold != isNearlyFull { self.isAboveThreshold.store(isAboveThreshold, ordering: .relaxed) }
        return isAboveThreshold
    }
}
