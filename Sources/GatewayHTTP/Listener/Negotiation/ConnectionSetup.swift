internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2

/// What stands between an accepted connection and its first request where more than plain HTTP/1.1 is spoken: a station after the
/// other, each a handler that leaves when it knows what it is there for.
///
/// ```
/// ProxyHeaderHandler → ApplicationProtocolCheck, NIOSSLServerHandler, ALPNHandler → ConnectionHandler or HTTP2ConnectionHandler
///                    → HTTP2PrefaceDetector                                               → the same
/// ```
///
/// A station that knows what follows it forgets the opening first, and then has the next handler put up: each of these may write,
/// and a write that fails brings more bytes, the end of the connection, or both, before it returns (``PendingBytes``).
///
/// Loop-bound. All of it together has the time that a first byte has; then the connection is cut. It counts into the caps from
/// the moment it is accepted.
final class ConnectionSetup: ListenerConnection {
    /// What is spoken from here on.
    enum ApplicationProtocol {
        case http1, http2
    }

    private let channel: any Channel
    private let loop: ListenerLoop
    private let opened: NIODeadline
    private let timer: DeadlineTimer
    private let caps: ConnectionLimit
    private var peer: Peer
    private var source: TrustedProxies.Source?
    private var isEncrypted = false
    private var isOver = false
    private var idleEntry: IdleConnections.Entry?

    init(channel: any Channel, loop: ListenerLoop, peer: Peer, caps: ConnectionLimit) {
        self.caps = caps
        self.channel = channel
        self.loop = loop
        self.peer = peer
        // Whom the PROXY protocol announces is another peer; whose bytes they are that it announces nobody for, nobody knows.
        source = loop.configuration.trust.source == .proxyProtocol ? nil : loop.trustedProxy(peer)
        opened = loop.eventLoop.now
        timer = DeadlineTimer(on: loop.eventLoop)
    }

    /// Whether connections of the listener need one.
    static func isNeeded(_ configuration: ListenerConfiguration) -> Bool {
        configuration.tls != nil || configuration.speaksHTTP2 || configuration.trust.source == .proxyProtocol
    }

    /// Puts the first station up.
    func start() throws {
        if loop.configuration.trust.source == .proxyProtocol {
            try channel.pipeline.syncOperations.addHandler(ProxyHeaderHandler(opening: self))
        } else {
            try putUpNext()
        }
        // While the client is slow to open the connection, there is no call that would be lost.
        idleEntry = loop.idleEntry(for: self, of: peer)
        idleEntry?.markIdle(wasUsed: false)
        loop.join(self)
        timer.start { self.cut() }
        timer.set(opened + loop.configuration.deadlines.head)
    }

    // Whoever carries the requests is told when it joins.
    func announceEnd() {}

    // No request has begun.
    func drain() { cut() }

    func cut() { channel.close(promise: nil) }

    func evict() { channel.closeWithoutWaiting() }

    var hasUnsentBytes: Bool { channel.hasUnsentBytes }

    /// The connection is that of the client that a proxy has announced, and counts as one of that client's.
    func speaks(for header: ProxyHeader, station context: ChannelHandlerContext, passOn: () -> Void) {
        isEncrypted = header.isEncrypted
        if let client = header.client {
            guard caps.attribute(to: client) else {
                end()
                return context.close(promise: nil)
            }
            channel.closeFuture.whenComplete { [caps] _ in caps.endAttribution(to: client) }
            peer = client
            source = loop.trustedProxy(client)
        }
        do { try putUpNext() } catch {
            end()
            return context.close(promise: nil)
        }
        passOn()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// Puts the handler of the protocol up behind a station, which passes on what it held back, and leaves.
    func finish(
        _ applicationProtocol: ApplicationProtocol, isEncrypted: Bool, station context: ChannelHandlerContext,
        passOn: () -> Void = {}
    ) {
        end()
        let isEncrypted = isEncrypted || self.isEncrypted
        do {
            switch applicationProtocol {
            case .http1: try speakHTTP1(isEncrypted: isEncrypted)
            case .http2: try speakHTTP2(isEncrypted: isEncrypted)
            }
        } catch {
            return context.close(promise: nil)
        }
        passOn()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// The connection is gone, or carries requests from now on.
    func end() {
        if isOver { return }
        isOver = true
        timer.stop()
        idleEntry?.remove()
        idleEntry = nil
        loop.leave(self)
    }

    private func putUpNext() throws {
        let pipeline = channel.pipeline.syncOperations
        if let tls = loop.configuration.tls {
            let speaksHTTP2 = loop.configuration.speaksHTTP2
            try pipeline.addHandlers([
                ApplicationProtocolCheck(spoken: ServerTLS.protocols(speaksHTTP2: speaksHTTP2)),
                tls.handler(speaksHTTP2: speaksHTTP2), ALPNHandler(opening: self),
            ])
        } else if loop.configuration.speaksHTTP2 {
            try pipeline.addHandler(HTTP2PrefaceDetector(opening: self))
        } else {
            end()
            try speakHTTP1(isEncrypted: isEncrypted)
        }
    }

    /// Whether a proxy has announced the client; it then also says whether the client came encrypted.
    private var isProxied: Bool { loop.configuration.trust.source == .proxyProtocol }

    private func speakHTTP1(isEncrypted: Bool) throws {
        try channel.pipeline.syncOperations.addHandler(
            ConnectionHandler(
                loop: loop, peer: peer, trustedProxy: source, opened: opened, isEncrypted: isEncrypted,
                isProxied: isProxied))
    }

    private func speakHTTP2(isEncrypted: Bool) throws {
        let meter = FrameRateLimitHandler(
            on: loop.eventLoop, headTime: loop.configuration.deadlines.head, scheduler: loop.frames)
        let handler = HTTP2ConnectionHandler(
            loop: loop, peer: peer, trustedProxy: source, meter: meter, opened: opened, isEncrypted: isEncrypted,
            isProxied: isProxied)
        let frames = NIOHTTP2Handler(
            mode: .server, frameDelegate: HTTP2ConnectionHandler.GoAwayObserver(handler),
            connectionConfiguration: HTTP2Limits.connection(loop.configuration.limits),
            streamConfiguration: HTTP2Limits.stream())
        try channel.pipeline.syncOperations.addHandlers([meter, frames, handler])
    }
}

@available(*, unavailable)
extension ConnectionSetup: Sendable {}
