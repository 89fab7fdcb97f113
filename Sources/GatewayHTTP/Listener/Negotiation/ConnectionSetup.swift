internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2
internal import NIOSSL

/// The setup of an accepted connection before its first request, for listeners that use more than plain HTTP/1.1. Each
/// step is a handler that removes itself when it is done.
///
/// ```
/// ProxyHeaderHandler → ApplicationProtocolCheck, NIOSSLServerHandler, ALPNHandler → HTTP1ConnectionHandler
///                    → HTTP2PrefaceDetector                                               or HTTP2ConnectionHandler
/// ```
///
/// TLS has two more handlers, which stay: `TLSCiphertextHandler` and `TLSPlaintextHandler`.
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
    private let connectionLimit: ConnectionLimit
    private var peer: Peer
    private var source: TrustedProxies.Source?
    private var isEncrypted = false
    /// The client certificate of the handshake; nil without TLS, and if the client is not asked for one.
    private var handshake: ClientCertificateHandshake?
    private var certificate: PresentedCertificate?
    /// Whether the setup is complete, or the connection is closed.
    private(set) var isFinished = false
    private var handshakeBytes = 0
    /// The memory of the handshake; nil while it is as small as usual.
    private var memory: RequestMemory.Account?
    private var evictionEntry: EvictionCandidates.Entry?

    init(channel: any Channel, loop: ListenerLoop, peer: Peer, connectionLimit: ConnectionLimit) {
        self.connectionLimit = connectionLimit
        self.channel = channel
        self.loop = loop
        self.peer = peer
        // With the PROXY protocol the client is not yet known. If the proxy reports none, forwarding fields and trace
        // fields are ignored.
        source = loop.configuration.trustedProxies.source == .proxyProtocol ? nil : loop.trustedProxy(peer)
        opened = loop.eventLoop.now
        timer = DeadlineTimer(on: loop.eventLoop)
    }

    /// Returns whether the connections of a listener need this setup.
    static func isNeeded(_ configuration: ListenerConfiguration) -> Bool {
        configuration.tls != nil || configuration.supportsHTTP2 || configuration.trustedProxies.source == .proxyProtocol
    }

    /// Adds the first handler and starts the deadline.
    func start() throws {
        if loop.configuration.trustedProxies.source == .proxyProtocol {
            try channel.pipeline.syncOperations.addHandler(ProxyHeaderHandler(opening: self))
        } else {
            try addNextHandler()
        }
        // Until the setup is complete, closing the connection loses no call.
        evictionEntry = loop.evictionEntry(for: self, of: peer)
        evictionEntry?.markIdle()
        timer.setExpiryHandler { self.closeImmediately() }
        timer.set(opened + loop.configuration.deadlines.head)
        loop.join(self)
    }

    // Nothing to do: `ListenerLoop.join` announces the end to the connection handler.
    func announceShutdown() {}

    /// Limits the setup to the time that a new connection has for its first byte. Its first request may be on its way.
    func drain() {
        let deadlines = loop.configuration.deadlines
        if !isFinished { timer.set(min(opened + deadlines.head, loop.eventLoop.now + deadlines.linger)) }
    }

    func closeImmediately() { channel.close(promise: nil) }

    func evict() { closeImmediately() }

    var hasUnsentBytes: Bool { channel.hasUnsentBytes }

    /// Applies a PROXY header: counts the connection for the reported client, adds the next handler, passes on the held
    /// bytes with `passOn`, and removes the current handler. Closes the connection if the client is at its limit.
    func apply(_ header: ProxyHeader, handler context: ChannelHandlerContext, passOn: () -> Void) {
        isEncrypted = header.isEncrypted
        if let client = header.client {
            guard connectionLimit.attribute(to: client) else {
                leave()
                return context.close(promise: nil)
            }
            channel.closeFuture.whenComplete { [connectionLimit] _ in connectionLimit.removeAttribution(to: client) }
            peer = client
            source = loop.trustedProxy(client)
        }
        do { try addNextHandler() } catch {
            leave()
            return context.close(promise: nil)
        }
        passOn()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// The number of bytes up to which a handshake does not count towards the memory limit. The usual ones are shorter.
    private static let usualHandshakeBytes = 4096

    /// Counts received bytes of the TLS handshake, because an incomplete message is held. Returns false if there is no
    /// memory for them; the connection must then be closed.
    func receivedHandshake(bytes: Int) -> Bool {
        handshakeBytes += bytes
        guard handshakeBytes > Self.usualHandshakeBytes, !isFinished else { return true }
        var account = memory ?? loop.memoryAccount(of: peer)
        // A buffer may be twice as large as its content.
        let admission = account.set(2 * handshakeBytes)
        memory = account
        return admission == .granted
    }

    /// Adds the handler of the application protocol after the current one, passes on the held bytes, and removes the
    /// current handler.
    func finish(
        _ applicationProtocol: ApplicationProtocol, isEncrypted: Bool, handler context: ChannelHandlerContext,
        passOn: () -> Void = {}
    ) {
        stop()
        // The connection handler joins the loop first, so that a drain waits for it.
        defer { loop.leave(self) }
        let isEncrypted = isEncrypted || self.isEncrypted
        do {
            if let handshake {
                certificate = try handshake.complete(
                    try context.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self))
            }
            switch applicationProtocol {
            case .http1: try addHTTP1Handler(isEncrypted: isEncrypted)
            case .http2: try addHTTP2Handler(isEncrypted: isEncrypted)
            }
        } catch {
            return context.close(promise: nil)
        }
        passOn()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// Stops the deadline and removes the setup from the loop. Called when the connection closes before its connection
    /// handler has joined the loop. Later calls have no effect.
    func leave() {
        if isFinished { return }
        stop()
        loop.leave(self)
    }

    private func stop() {
        isFinished = true
        timer.stop()
        memory?.close()
        memory = nil
        evictionEntry?.remove()
        evictionEntry = nil
    }

    private func addNextHandler() throws {
        let pipeline = channel.pipeline.syncOperations
        if let tls = loop.configuration.tls {
            let supportsHTTP2 = loop.configuration.supportsHTTP2
            handshake = tls.clients.map { ClientCertificateHandshake($0, clocks: loop.clocks) }
            try pipeline.addHandlers([
                TLSCiphertextHandler(opening: self),
                ApplicationProtocolCheck(
                    supported: ServerTLS.protocols(supportsHTTP2: supportsHTTP2), scheduler: loop.turns,
                    owner: loop.turnOwner(of: channel, of: peer)),
                tls.handler(supportsHTTP2: supportsHTTP2, verifying: handshake), TLSPlaintextHandler(),
                ALPNHandler(opening: self),
            ])
        } else if loop.configuration.supportsHTTP2 {
            try pipeline.addHandler(HTTP2PrefaceDetector(opening: self))
        } else {
            stop()
            defer { loop.leave(self) }
            try addHTTP1Handler(isEncrypted: isEncrypted)
        }
    }

    /// Whether the listener uses the PROXY protocol. Encryption then counts only as reported by the proxy or terminated
    /// here.
    private var usesProxyProtocol: Bool { loop.configuration.trustedProxies.source == .proxyProtocol }

    private func addHTTP1Handler(isEncrypted: Bool) throws {
        try channel.pipeline.syncOperations.addHandler(
            HTTP1ConnectionHandler(
                loop: loop, peer: peer, trustedProxy: source, opened: opened, isEncrypted: isEncrypted,
                usesProxyProtocol: usesProxyProtocol, certificate: certificate))
    }

    private func addHTTP2Handler(isEncrypted: Bool) throws {
        let carriesManyClients = loop.carriesManyClients(peer)
        let rateLimiter = FrameRateLimitHandler(
            on: loop.eventLoop, headTime: loop.configuration.deadlines.head, scheduler: loop.turns,
            owner: loop.turnOwner(of: channel, of: peer), carriesManyClients: carriesManyClients)
        let handler = HTTP2ConnectionHandler(
            loop: loop, peer: peer, trustedProxy: source, rateLimiter: rateLimiter, opened: opened,
            isEncrypted: isEncrypted, usesProxyProtocol: usesProxyProtocol, certificate: certificate)
        let frames = NIOHTTP2Handler(
            mode: .server, frameDelegate: HTTP2ConnectionHandler.FrameObserver(handler),
            connectionConfiguration: HTTP2Limits.connection(
                loop.configuration.limits, carriesManyClients: carriesManyClients),
            streamConfiguration: HTTP2Limits.stream())
        try channel.pipeline.syncOperations.addHandlers([rateLimiter, frames, handler])
    }
}

@available(*, unavailable)
extension ConnectionSetup: Sendable {}
