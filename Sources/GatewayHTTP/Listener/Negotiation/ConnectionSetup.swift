internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2

/// The setup of an accepted connection before its first request, for listeners that use more than plain HTTP/1.1. Each
/// step is a handler that removes itself when it is done.
///
/// ```
/// ProxyHeaderHandler → ApplicationProtocolCheck, NIOSSLServerHandler, ALPNHandler → ConnectionHandler
///                    → HTTP2PrefaceDetector                                               or HTTP2ConnectionHandler
/// ```
///
/// A handler that knows the next step first drops its reference to the setup and then adds the next handler. Adding a
/// handler may write. A write that fails can deliver more bytes or close the connection before it returns; see
/// ``PendingBytes``.
///
/// Loop-bound. The complete setup must finish within the deadline of a request head, or the connection is closed. The
/// connection counts towards the limits from the moment it is accepted.
final class ConnectionSetup: ListenerConnection {
    /// The application protocol of the connection.
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
        // With the PROXY protocol the client is not yet known. If the proxy reports none, forwarding fields and trace
        // fields are ignored.
        source = loop.configuration.trust.source == .proxyProtocol ? nil : loop.trustedProxy(peer)
        opened = loop.eventLoop.now
        timer = DeadlineTimer(on: loop.eventLoop)
    }

    /// Returns whether the connections of a listener need this setup.
    static func isNeeded(_ configuration: ListenerConfiguration) -> Bool {
        configuration.tls != nil || configuration.speaksHTTP2 || configuration.trust.source == .proxyProtocol
    }

    /// Adds the first handler and starts the deadline.
    func start() throws {
        if loop.configuration.trust.source == .proxyProtocol {
            try channel.pipeline.syncOperations.addHandler(ProxyHeaderHandler(opening: self))
        } else {
            try addNextHandler()
        }
        // Until the setup is complete, closing the connection loses no call.
        idleEntry = loop.idleEntry(for: self, of: peer)
        idleEntry?.markIdle()
        loop.join(self)
        timer.start { self.cut() }
        timer.set(opened + loop.configuration.deadlines.head)
    }

    // Nothing to do: the loop informs the connection handler when it joins.
    func announceEnd() {}

    // No request has started, so none is lost.
    func drain() { cut() }

    func cut() { channel.close(promise: nil) }

    func evict() { channel.closeWithoutWaiting() }

    var hasUnsentBytes: Bool { channel.hasUnsentBytes }

    /// Applies the client that a proxy has reported, and counts the connection for that client.
    func apply(_ header: ProxyHeader, handler context: ChannelHandlerContext, passOn: () -> Void) {
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
        do { try addNextHandler() } catch {
            end()
            return context.close(promise: nil)
        }
        passOn()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// Adds the handler of the application protocol behind the current one, passes on the held bytes, and removes the
    /// current handler.
    func finish(
        _ applicationProtocol: ApplicationProtocol, isEncrypted: Bool, handler context: ChannelHandlerContext,
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

    /// Ends the setup: the connection is closed, or its connection handler has taken over.
    func end() {
        if isOver { return }
        isOver = true
        timer.stop()
        idleEntry?.remove()
        idleEntry = nil
        loop.leave(self)
    }

    private func addNextHandler() throws {
        let pipeline = channel.pipeline.syncOperations
        if let tls = loop.configuration.tls {
            let speaksHTTP2 = loop.configuration.speaksHTTP2
            try pipeline.addHandlers([
                ApplicationProtocolCheck(
                    supported: ServerTLS.protocols(speaksHTTP2: speaksHTTP2), scheduler: loop.turns,
                    owner: loop.turnOwner(of: channel, of: peer)),
                tls.handler(speaksHTTP2: speaksHTTP2), ALPNHandler(opening: self),
            ])
        } else if loop.configuration.speaksHTTP2 {
            try pipeline.addHandler(HTTP2PrefaceDetector(opening: self))
        } else {
            end()
            try speakHTTP1(isEncrypted: isEncrypted)
        }
    }

    /// Whether a proxy has reported the client. The proxy then also reports whether the client's connection was
    /// encrypted.
    private var isProxied: Bool { loop.configuration.trust.source == .proxyProtocol }

    private func speakHTTP1(isEncrypted: Bool) throws {
        try channel.pipeline.syncOperations.addHandler(
            ConnectionHandler(
                loop: loop, peer: peer, trustedProxy: source, opened: opened, isEncrypted: isEncrypted,
                isProxied: isProxied))
    }

    private func speakHTTP2(isEncrypted: Bool) throws {
        let meter = FrameRateLimitHandler(
            on: loop.eventLoop, headTime: loop.configuration.deadlines.head, scheduler: loop.turns,
            owner: loop.turnOwner(of: channel, of: peer))
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
