internal import Gateway
internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2

/// The last handler of a client connection of HTTP/2: frames become requests, calls and answers.
///
/// Loop-bound. Streams are independent: a fault of one is answered on it, and ends it alone. A call owns its handler until it is
/// answered, as with HTTP/1.1; that its stream was reset ends its wait for a login, and never what was recorded.
final class HTTP2ConnectionHandler: ChannelDuplexHandler, ListenerConnection {
    typealias InboundIn = HTTP2Frame
    typealias OutboundIn = Never
    typealias OutboundOut = HTTP2Frame

    /// How the connection as a whole stands.
    enum Phase {
        /// Streams may be opened.
        case open
        /// No further stream is taken.
        case draining
        /// Nothing more is written.
        case closing
    }

    let loop: ListenerLoop
    let peer: Peer
    let meter: FrameRateLimitHandler
    let opened: NIODeadline
    let timer: DeadlineTimer
    let allowsCredentials: Bool
    /// By what the peer is believed; nil where it is not.
    let source: TrustedProxies.Source?
    var phase = Phase.open
    var streams = HTTP2Streams()
    /// What the client holds of the memory for incomplete requests.
    var memory: RequestMemory.Account
    var lastStream = HTTP2StreamID.rootStream
    /// Whether the first stream is the last one, too.
    var endsAfterFirst = false
    /// Calls that are not answered, those of streams that were reset included.
    var callsUnderWay = 0
    var idleEntry: IdleConnections.Entry?
    var context: ChannelHandlerContext?
    /// What the timer runs for.
    var wakeUp: NIODeadline?
    /// When the client must have begun a stream, where it has none.
    var idleUntil: NIODeadline?
    /// When the client must have read something, where it reads nothing.
    var stuckUntil: NIODeadline?
    private var holdsRead = false
    private var sentGoAway = false

    init(
        loop: ListenerLoop, peer: Peer, trustedProxy source: TrustedProxies.Source?, meter: FrameRateLimitHandler,
        opened: NIODeadline, isEncrypted: Bool, isProxied: Bool = false
    ) {
        self.loop = loop
        self.peer = peer
        self.meter = meter
        self.opened = opened
        timer = DeadlineTimer(on: loop.eventLoop)
        memory = loop.memoryAccount(of: peer)
        self.source = source
        allowsCredentials = loop.allowsCredentials(isEncrypted: isEncrypted, isProxied: isProxied)
    }

    func cut() { context?.close(promise: nil) }

    var hasUnsentBytes: Bool { context?.channel.hasUnsentBytes ?? false }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        timer.start { self.deadlinePassed() }
        idleEntry = loop.idleEntry(for: self, of: peer)
        updateIdleEntry()
        loop.join(self)
        idleUntil = opened + loop.configuration.deadlines.head
        wake(by: idleUntil)
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase != .closing else { return }
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let payload): received(payload, on: frame.streamID)
        case .data(let payload): received(payload, on: frame.streamID)
        // What these mean is between the client and the frames' own handler.
        case .ping, .settings, .windowUpdate, .priority, .rstStream, .goAway, .pushPromise, .alternativeService,
            .origin:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // The rest of a request may be among the frames that wait.
        if !meter.hasWaitingFrames { keepWithinMemory() }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as StreamClosedEvent: closed(event.streamID)
        case let event as NIOHTTP2WindowUpdatedEvent: widenWindow(event)
        case is FrameRateLimitHandler.Exhausted: end(.enhanceYourCalm)
        // The client will send no more; it may still wait for answers.
        case let event as ChannelEvent where event == .inputClosed: drain()
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    // Faults of a stream end here; one of the connection shows in the GOAWAY that the frames' own handler has written.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case is NIOHTTP2Errors.StreamError: break
        case is any NIOHTTP2Error: if sentGoAway { close() }
        default: close()
        }
    }

    /// Looks for the GOAWAY of the frames' own handler, by which a fault of the connection differs from one of a stream.
    struct GoAwayObserver: NIOHTTP2FrameDelegate {
        private let handler: HTTP2ConnectionHandler

        init(_ handler: HTTP2ConnectionHandler) { self.handler = handler }

        func wroteFrame(_ frame: HTTP2Frame) {
            if case .goAway(_, let code, _) = frame.payload, code != .noError { handler.sentGoAway = true }
        }
    }

    private func close() {
        phase = .closing
        context?.close(promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stuckUntil = context.channel.isWritable ? nil : loop.eventLoop.now + loop.configuration.deadlines.body
        wake(by: stuckUntil)
        if context.channel.isWritable, holdsRead {
            holdsRead = false
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    // A client that does not read its answers gets no more of them.
    func read(context: ChannelHandlerContext) {
        if context.channel.isWritable { context.read() } else { holdsRead = true }
    }

    func send(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID = .rootStream) {
        context?.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }

    private func leave() {
        guard context != nil else { return }
        context = nil
        phase = .closing
        timer.stop()
        _ = memory.set(0)
        idleEntry?.remove()
        idleEntry = nil
        let left = streams
        streams = HTTP2Streams()
        for stream in left.values { stream.clientHasLeft() }
        loop.leave(self)
    }
}

extension HTTP2Stream {
    /// Nobody waits for the answer any more.
    func clientHasLeft() {
        if case .serving(let clientDisconnect, _) = state { clientDisconnect.announce() }
    }
}

@available(*, unavailable)
extension HTTP2ConnectionHandler: Sendable {}
