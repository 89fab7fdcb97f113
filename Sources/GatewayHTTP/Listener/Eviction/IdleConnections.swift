internal import GatewayCore
internal import NIOCore
internal import NIOSSL

/// The connections of all listeners on one event loop, and which of them are idle. Loop-bound.
final class IdleConnections {
    private let eventLoop: any EventLoop
    private var table = IdleTable<any ListenerConnection>()

    init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// One connection's entry. Loop-bound; the connection removes it at its end.
    struct Entry {
        fileprivate let connections: IdleConnections
        fileprivate let index: Int32

        /// Notes that the connection has nothing to do from now on.
        ///
        /// - Parameter wasUsed: whether it has made a call.
        func markIdle(wasUsed: Bool) {
            connections.table.markIdle(index, since: connections.eventLoop.now, wasUsed: wasUsed)
        }

        /// Notes that a request has begun to arrive.
        func markBusy() { connections.table.markBusy(index) }

        /// Removes the connection.
        func remove() { connections.table.remove(index) }
    }

    /// Adds a connection, which counts as busy until it is marked.
    ///
    /// - Parameter network: nil for a connection that is closed only if there is no other.
    func add(_ connection: any ListenerConnection, of network: Peer.Address?) -> Entry {
        Entry(connections: self, index: table.add(connection, of: network))
    }

    /// Returns the connection to close to make room for another, if there is one. The caller closes it before the loop goes on.
    func takeCandidate() -> (any ListenerConnection)? {
        table.takeCandidate(now: eventLoop.now) { $0.hasUnsentBytes }
    }
}

extension Channel {
    /// Whether the system has not taken all that was written. On the channel's event loop.
    var hasUnsentBytes: Bool { ((try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0) > 0 }

    /// Closes the channel without waiting for the client's part of the end of TLS, which may take 5 s. On the channel's event loop.
    func closeWithoutWaiting() {
        close(promise: nil)
        // The alert `close_notify` is on its way; what lies below TLS is closed as well.
        if let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
            tls.close(promise: nil)
        }
    }
}

extension Peer {
    /// Whose the address is, as far as one may guess: an IPv4 address, or the /56 of an IPv6 address, which is the most that providers
    /// give to a household.
    var network: Address {
        switch address {
        case .v4, .local: address
        case .v6(let upper, _): .v6(upper & ~0xFF, 0)
        }
    }
}

@available(*, unavailable)
extension IdleConnections: Sendable {}

@available(*, unavailable)
extension IdleConnections.Entry: Sendable {}
