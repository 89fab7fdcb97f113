internal import GatewayCore
internal import NIOCore

/// What stands between an accepted connection and its first request where more than plain HTTP/1.1 is spoken: the handshake of
/// TLS, and the choice of the protocol.
///
/// Loop-bound. All of it together has the time that a first byte has; then the connection is cut. It counts into the caps from
/// the moment it is accepted.
final class ConnectionOpening: ListenerConnection {
    private let channel: any Channel
    private let loop: ListenerLoop
    private let peer: Peer
    private let opened: NIODeadline
    private let timer: DeadlineTimer

    init(channel: any Channel, loop: ListenerLoop, peer: Peer) {
        self.channel = channel
        self.loop = loop
        self.peer = peer
        opened = loop.eventLoop.now
        timer = DeadlineTimer(on: loop.eventLoop)
    }

    /// Readies the connection for its handshake.
    func start(_ tls: ServerTLS) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers([tls.handler(speaksHTTP2: false), ProtocolChoice(opening: self)])
        loop.join(self)
        timer.start { self.cut() }
        timer.set(opened + loop.configuration.deadlines.head)
    }

    // Whoever carries the requests is told when it joins.
    func announceEnd() {}

    // No request has begun.
    func drain() { cut() }

    func cut() { channel.close(promise: nil) }

    /// The handshake is over. To be called by the handler that learned it, before it leaves and before it passes on a byte.
    func encrypted() throws {
        end()
        let handler = ConnectionHandler(loop: loop, peer: peer, opened: opened, isEncrypted: true)
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    /// The connection is gone, or carries requests from now on.
    func end() {
        timer.stop()
        loop.leave(self)
    }
}

@available(*, unavailable)
extension ConnectionOpening: Sendable {}
