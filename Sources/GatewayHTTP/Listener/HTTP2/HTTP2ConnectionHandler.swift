internal import Gateway
internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2

/// The last channel handler of an HTTP/2 connection that a client has opened. It converts frames to requests, starts
/// the calls, and writes their responses.
///
/// Loop-bound. Streams are independent: a stream error is answered on its own stream, by a response or RST_STREAM, and
/// ends only that stream. A call keeps its handler alive until it completes, as in `HTTP1ConnectionHandler`. A stream
/// reset cancels the verification of credentials, but never a call that the journal has recorded.
final class HTTP2ConnectionHandler: ChannelDuplexHandler, ListenerConnection {
    typealias InboundIn = HTTP2Frame
    typealias OutboundIn = Never
    typealias OutboundOut = HTTP2Frame

    /// The state of the connection. `open` → `announced` → `draining` → `closing`; each may also change to `failing`,
    /// `draining` or `closing` at once; `failing` → `closing`.
    enum Phase {
        /// New streams are accepted.
        case open
        /// GOAWAY asks the client to open no further stream. Those that it opens nevertheless are accepted.
        case announced
        /// GOAWAY names the last stream. No further stream is accepted; open streams continue.
        case draining
        /// GOAWAY reports an error. Nothing more is read; calls in progress get their responses.
        case failing
        /// Nothing more is written.
        case closing
    }

    let loop: ListenerLoop
    let peer: Peer
    let rateLimiter: FrameRateLimitHandler
    let opened: NIODeadline
    let timer: DeadlineTimer
    let allowsCredentials: Bool
    /// Whether the connection carries the requests of many clients, each of which pays for its own events.
    let carriesManyClients: Bool
    /// The certificate that the peer presented in the TLS handshake; nil if there is none.
    let certificate: PresentedCertificate?
    /// How the proxy reports the client's address (a header field or the PROXY protocol) if the peer is a trusted
    /// proxy; nil if it is not.
    let source: TrustedProxies.Source?
    var phase = Phase.open
    var streams = HTTP2Streams()
    /// The memory that counts towards the client's limit, except for pending requests and responses.
    var memory: RequestMemory.Account
    /// The memory of requests that wait for admission and of bodies of responses that the client has not taken.
    var pending: RequestMemory.Account
    /// The latest stream that the client has opened while streams were accepted; the root stream before the first one.
    var lastStream = HTTP2StreamID.rootStream
    /// Whether to drain as soon as the client has answered the PING after the first GOAWAY.
    var drainsAfterRoundTrip = false
    /// Whether the client has answered the PING after the first GOAWAY.
    var hasAnsweredPing = false
    /// The number of calls in progress, including those of reset streams.
    var callsInProgress = 0
    var evictionEntry: EvictionCandidates.Entry?
    var context: ChannelHandlerContext?
    /// The time that the timer is set to.
    var timerDeadline: NIODeadline?
    /// While no stream is open, the time by which the client must open one. While `closing`, the time by which the
    /// client must close its side.
    var idleDeadline: NIODeadline?
    /// The time of the next step of the shutdown at the latest; nil if no step is pending.
    var shutdownDeadline: NIODeadline?
    /// The time by which the client must have read enough for the channel to become writable; nil while the channel is
    /// writable.
    var writabilityDeadline: NIODeadline?
    private var hasDeferredRead = false
    /// Whether the connection is closed for lack of memory.
    var isOutOfMemory = false
    /// Whether the client has got the settings.
    var hasAnnouncedSettings = false
    /// Whether the HTTP/2 library has reported a connection error and written GOAWAY.
    var hasConnectionError = false

    init(
        loop: ListenerLoop, peer: Peer, trustedProxy source: TrustedProxies.Source?, rateLimiter: FrameRateLimitHandler,
        opened: NIODeadline, isEncrypted: Bool, usesProxyProtocol: Bool = false,
        certificate: PresentedCertificate? = nil
    ) {
        self.certificate = certificate
        self.loop = loop
        self.peer = peer
        self.rateLimiter = rateLimiter
        self.opened = opened
        timer = DeadlineTimer(on: loop.eventLoop)
        memory = loop.memoryAccount(of: peer)
        pending = loop.memoryAccount(of: peer, part: .proxy)
        self.source = source
        carriesManyClients = loop.carriesManyClients(peer)
        allowsCredentials = loop.allowsCredentials(isEncrypted: isEncrypted, usesProxyProtocol: usesProxyProtocol)
    }

    func closeImmediately() { context?.close(promise: nil) }

    var hasUnsentBytes: Bool { context?.channel.hasUnsentBytes ?? false }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        timer.setExpiryHandler { self.deadlinePassed() }
        evictionEntry = loop.evictionEntry(for: self, of: peer)
        updateEvictionEntry()
        applySettings()
        idleDeadline = opened + loop.configuration.deadlines.head
        scheduleTimer(by: idleDeadline)
        loop.join(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase != .failing, phase != .closing else { return }
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let payload): received(payload, on: frame.streamID)
        case .data(let payload): received(payload, on: frame.streamID)
        case .ping(Self.shutdownPing, ack: true): receivedPingAnswer()
        // The HTTP/2 library processes these frames.
        case .ping, .settings, .windowUpdate, .priority, .rstStream, .goAway, .pushPromise, .alternativeService,
            .origin:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        enforceMemoryLimit()
        updateEvictionEntry()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as StreamClosedEvent: closed(event.streamID)
        case let event as NIOHTTP2WindowUpdatedEvent: restoreWindow(event)
        case is FrameRateLimitHandler.Exhausted: fail(.enhanceYourCalm)
        // The client sends no more but may still wait for responses.
        case let event as ChannelEvent where event == .inputClosed: finishShutdown()
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    // After a stream error the HTTP/2 library has reset the stream, after a connection error it has written GOAWAY.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case is NIOHTTP2Errors.StreamError: charge(nil)
        case is any NIOHTTP2Error: if hasConnectionError { fail(nil) } else { charge(nil) }
        default: close()
        }
    }

    func close() {
        phase = .closing
        context?.close(promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writabilityDeadline = context.channel.isWritable ? nil : loop.eventLoop.now + loop.configuration.deadlines.body
        scheduleTimer(by: writabilityDeadline)
        if context.channel.isWritable, hasDeferredRead {
            hasDeferredRead = false
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    // The socket is not read while the client does not read its responses.
    func read(context: ChannelHandlerContext) {
        if context.channel.isWritable { context.read() } else { hasDeferredRead = true }
    }

    func send(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID = .rootStream) {
        context?.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }

    private func leave() {
        guard context != nil else { return }
        context = nil
        phase = .closing
        timer.stop()
        memory.close()
        pending.close()
        evictionEntry?.remove()
        evictionEntry = nil
        let left = streams
        streams = HTTP2Streams()
        for stream in left.values { stream.signalDisconnect() }
        loop.leave(self)
    }
}

extension HTTP2Stream {
    /// Signals that no client waits for the response any more.
    func signalDisconnect() {
        if case .serving(let clientDisconnect, _) = state { clientDisconnect.signal() }
    }
}

@available(*, unavailable)
extension HTTP2ConnectionHandler: Sendable {}
