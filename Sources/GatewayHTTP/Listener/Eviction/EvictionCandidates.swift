internal import GatewayCore
internal import NIOCore

/// The connections of all listeners on one event loop, with their idle state. Loop-bound.
final class EvictionCandidates {
    private let eventLoop: any EventLoop
    private var table = IdleTable<any ListenerConnection>()

    init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// The entry of one connection. Loop-bound. The connection removes its entry when it closes.
    struct Entry {
        fileprivate let connections: EvictionCandidates
        fileprivate let index: Int32

        /// Records that the connection is idle.
        func markIdle() { connections.table.markIdle(index, since: connections.eventLoop.now) }

        /// Records that a request has begun to arrive, or that the client has not taken a response, while no call is in
        /// progress.
        func markStalled() { connections.table.markStalled(index, since: connections.eventLoop.now) }

        /// Records that a request is complete.
        func markBusy() { connections.table.markBusy(index) }

        /// Removes the connection.
        func remove() { connections.table.remove(index) }
    }

    /// Adds a connection. It counts as busy until it is marked idle or stalled.
    ///
    /// - Parameter network: The network of the peer; nil for a connection of a trusted proxy or a Unix socket, which is
    ///   closed only if there is no other candidate.
    func add(_ connection: any ListenerConnection, of network: Peer.Address?) -> Entry {
        Entry(connections: self, index: table.add(connection, of: network))
    }

    /// Returns the connection to close in order to make room; nil if there is none. The caller closes it before the
    /// loop continues.
    func removeCandidate() -> (any ListenerConnection)? {
        table.removeCandidate(now: eventLoop.now) { $0.hasUnsentBytes }
    }
}

extension Channel {
    /// The number of bytes that wait to be written to the socket. Use it on the channel's event loop.
    var unsentBytes: Int { (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }
    /// Whether bytes wait to be written to the socket. Use it on the channel's event loop.
    var hasUnsentBytes: Bool { unsentBytes > 0 }
}

extension Peer {
    /// The network that probably belongs to one customer: an IPv4 address, or the /56 of an IPv6 address, the largest
    /// block that providers assign to a household.
    var network: Address {
        switch address {
        case .v4, .local: address
        case .v6(let upper, _): .v6(upper & ~0xFF, 0)
        }
    }
}

@available(*, unavailable)
extension EvictionCandidates: Sendable {}

@available(*, unavailable)
extension EvictionCandidates.Entry: Sendable {}
