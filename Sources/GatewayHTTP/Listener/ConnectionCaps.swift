public import GatewayCore
internal import Synchronization

/// Counts the connections of one listener or several, in all and by peer. Asked once a connection, from any loop.
public final class ConnectionCaps: Sendable {
    private struct Counts {
        var total = 0
        var byPeer: [Peer.Address: Int] = [:]
    }

    /// Connections that were one too many.
    public let refused = Counter()
    private let limits: ListenerConfiguration.Connections
    private let counts = Mutex(Counts())

    /// None yet, and at most so many.
    public init(_ limits: ListenerConfiguration.Connections) { self.limits = limits }

    /// Counts a connection in; false if it is one too many, and then it is not counted.
    func admit(_ peer: Peer) -> Bool {
        let isAdmitted = count(peer)
        if !isAdmitted { refused.add() }
        return isAdmitted
    }

    private func count(_ peer: Peer) -> Bool {
        counts.withLock { counts in
            guard counts.total < limits.total else { return false }
            if peer.address != .local {
                let own = counts.byPeer[peer.limitKey, default: 0]
                guard own < limits.perPeer else { return false }
                counts.byPeer[peer.limitKey] = own + 1
            }
            counts.total += 1
            return true
        }
    }

    /// Counts an admitted connection out.
    func release(_ peer: Peer) {
        counts.withLock { counts in
            counts.total -= 1
            guard let own = counts.byPeer[peer.limitKey] else { return }
            counts.byPeer[peer.limitKey] = own > 1 ? own - 1 : nil
        }
    }
}
