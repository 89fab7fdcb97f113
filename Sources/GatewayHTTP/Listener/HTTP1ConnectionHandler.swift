internal import Gateway
internal import GatewayCore
internal import NIOCore

/// The last channel handler of an HTTP/1.1 client connection. It reports channel events to
/// `HTTP1ConnectionStateMachine`, performs the returned actions, and starts the calls.
///
/// Loop-bound. A call keeps its handler alive until it completes, so that a disconnecting client does not affect the
/// call.
final class HTTP1ConnectionHandler: ChannelDuplexHandler, ListenerConnection, TurnTaker {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private let loop: ListenerLoop
    private let peer: Peer
    private let opened: NIODeadline
    private let allowsCredentials: Bool
    private let certificate: PresentedCertificate?
    private let timer: DeadlineTimer
    private var machine: HTTP1ConnectionStateMachine
    private var memory: RequestMemory.Account
    private var evictionEntry: EvictionCandidates.Entry?
    private var context: ChannelHandlerContext?
    /// The request that waits for admission.
    private var waiting: FramedRequest?
    /// The deadline that the timer is set for.
    private var armedDeadline = HTTP1ConnectionStateMachine.Deadline.none
    private var isAdvancing = false
    /// Whether a read was requested while the socket must not be read.
    private var hasDeferredRead = false

    /// Creates the handler of one connection. Call it on the connection's event loop.
    ///
    /// - Parameters:
    ///   - trustedProxy: The source of client addresses if the peer is a trusted proxy; nil if it is not.
    ///   - opened: The time when the connection was accepted; nil means now.
    ///   - isEncrypted: Whether the connection is encrypted, either up to this process or up to the trusted proxy.
    ///   - usesProxyProtocol: Whether the listener's connections come through proxies that use the PROXY protocol.
    init(
        loop: ListenerLoop, peer: Peer, trustedProxy source: TrustedProxies.Source?, opened: NIODeadline? = nil,
        isEncrypted: Bool = false, usesProxyProtocol: Bool = false, certificate: PresentedCertificate? = nil
    ) {
        self.certificate = certificate
        self.loop = loop
        self.peer = peer
        self.opened = opened ?? loop.eventLoop.now
        self.allowsCredentials = loop.allowsCredentials(isEncrypted: isEncrypted, usesProxyProtocol: usesProxyProtocol)
        self.memory = loop.memoryAccount(of: peer)
        self.machine = HTTP1ConnectionStateMachine(limits: loop.configuration.limits, trustedProxy: source)
        self.timer = DeadlineTimer(on: loop.eventLoop)
    }

    func announceShutdown() { machine.announceShutdown() }

    /// Closes the connection after its current request, or at once if it is idle. A connection that has not carried a
    /// request yet stays open briefly, because its first one may be on its way.
    func drain() {
        machine.drain()
        advance()
    }

    /// Closes the connection at once. A call in progress continues.
    func closeImmediately() { context?.close(promise: nil) }
    func evict() { closeImmediately() }
    var hasUnsentBytes: Bool { context?.channel.hasUnsentBytes ?? false }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        timer.setExpiryHandler { self.deadlinePassed() }
        evictionEntry = loop.evictionEntry(for: self, of: peer)
        loop.join(self)
        updateDeadline()
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        machine.received(unwrapInboundIn(data))
        advance()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed {
            machine.closedInput()
            advance()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // A channel that is not writable may become so within the present flush.
        if context.channel.isWritable { advance() }
        context.fireChannelWritabilityChanged()
    }

    // An error such as a reset leaves no client to respond to.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    // Back-pressure: the socket is not read while a call is in progress and further bytes are buffered.
    func read(context: ChannelHandlerContext) {
        if machine.wantsBytes, context.channel.isWritable {
            context.read()
        } else {
            hasDeferredRead = true
        }
    }

    private func leave() {
        guard context != nil else { return }
        context = nil
        timer.stop()
        waiting = nil
        memory.close()
        evictionEntry?.remove()
        evictionEntry = nil
        loop.leave(self)
    }

    // A call may complete before `serve` returns, which would recurse without `isAdvancing`.
    private func advance() {
        guard !isAdvancing else { return }
        isAdvancing = true
        defer { isAdvancing = false }
        // No further request is served while the client does not read its responses.
        while let context, context.channel.isWritable || machine.isFinishing, perform(machine.next(), context) {}
        if let context { enforceMemoryLimit(context) }
        updateDeadline()
        if hasDeferredRead, let context, machine.wantsBytes, context.channel.isWritable {
            hasDeferredRead = false
            context.read()
        }
    }

    /// Counts the incomplete request, and the responses that the client does not read.
    private func enforceMemoryLimit(_ context: ChannelHandlerContext) {
        let unsentBytes = context.channel.isWritable ? 0 : context.channel.unsentBytes
        guard let fault = memory.set(machine.heldBytes + unsentBytes + waitingBytes).fault else { return }
        // A client that does not read gets no further response.
        if unsentBytes > 0 { return context.close(promise: nil) }
        _ = perform(machine.reject(fault), context)
    }

    // Returns whether the caller should ask for the next action.
    private func perform(_ action: HTTP1ConnectionStateMachine.Action, _ context: ChannelHandlerContext) -> Bool {
        switch action {
        case .wait:
            return false
        case .sendContinue:
            context.writeAndFlush(wrapOutboundOut(ResponseWriter.continueResponse), promise: nil)
        case .serve(let request):
            evictionEntry?.markBusy()
            serve(request)
        case .awaitTurn:
            loop.turns.enqueue(self, of: loop.turnOwner(of: self, of: peer))
            return false
        case .reject(let fault, let omitsBody):
            // The client gets time to read the response, which is the last one.
            evictionEntry?.markBusy()
            let id = loop.ids.next()
            let response = loop.serving.reject(Rejection(fault), id: id)
            write(response, id: id, framing: ResponseWriter.Framing(omitsBody: omitsBody, connection: .closed))
        case .close:
            context.close(promise: nil)
            return false
        }
        return true
    }

    /// Serves one pipelined request. The next one waits for another turn.
    func takeTurn(units: Int) -> Int {
        machine.beginTurn()
        advance()
        return 1
    }

    private func serve(_ framed: FramedRequest) {
        if loop.admit(framed) { return begin(framed) }
        waiting = framed
        guard memory.set(memory.bytes + waitingBytes) == .granted else { return rejectWaiting() }
        // The queue holds no request: that of a closed connection is released at once.
        loop.admissionQueue.enqueue(
            AdmissionQueue.Call(
                owner: loop.turnOwner(of: framed, on: self, of: peer), isAwaited: { self.waiting != nil },
                begin: { self.beginWaiting() }, reject: { self.rejectWaiting() }))
    }

    /// The memory of the request that waits for admission, in bytes.
    private var waitingBytes: Int {
        waiting.map { $0.headBytes.storageCapacity + $0.body.storageCapacity } ?? 0
    }

    private func beginWaiting() {
        guard let framed = waiting else { return loop.finishedCall() }
        _ = memory.set(max(0, memory.bytes - waitingBytes))
        waiting = nil
        begin(framed)
    }

    private func rejectWaiting() {
        guard waiting != nil else { return }
        _ = memory.set(max(0, memory.bytes - waitingBytes))
        waiting = nil
        let id = loop.ids.next()
        respond(loop.overloadResponse(id), id: id)
    }

    private func begin(_ framed: FramedRequest) {
        let id = loop.ids.next()
        let bound = NIOLoopBound((handler: self, framed: framed), eventLoop: loop.eventLoop)
        // The task does not keep the request that it passes on.
        Task.immediate(executorPreference: loop.executor) { [serving = loop.serving] in
            let response = await serving.serve(bound.value.handler.request(bound.value.framed, id: id))
            bound.value.handler.finish(response, id: id)
        }
    }

    private func request(_ framed: FramedRequest, id: CallID) -> ReceivedRequest {
        loop.request(framed, id: id, peer: peer, allowsCredentials: allowsCredentials, certificate: certificate)
    }

    private func finish(_ response: Response, id: CallID) {
        loop.finishedCall()
        self.respond(response, id: id)
        loop.admissionQueue.beginNext()
    }

    private func respond(_ response: Response, id: CallID) {
        guard let framing = machine.completeRequest() else { return }
        write(response, id: id, framing: framing)
        advance()
    }

    private func write(_ response: Response, id: CallID, framing: ResponseWriter.Framing) {
        guard let context else { return }
        let bytes = loop.responseWriter.bytes(
            of: response, id: id, framing: framing, allocator: context.channel.allocator)
        guard machine.isConcluding else { return context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(bytes)).assumeIsolated().whenComplete { _ in self.conclude() }
    }

    // The output is closed first: closing a socket with unread bytes would send a reset and could lose the response.
    private func conclude() {
        let isAwaited = machine.concluded()
        context?.close(mode: isAwaited ? .output : .all, promise: nil)
        advance()
    }

    private func updateDeadline() {
        guard context != nil, machine.deadline != armedDeadline else { return }
        armedDeadline = machine.deadline
        switch armedDeadline {
        case .firstByte, .idle: evictionEntry?.markIdle()
        // The entry became busy when the request was complete.
        case .none: break
        case .firstByteWhileDraining, .head, .body, .lastResponse, .linger: evictionEntry?.markStalled()
        }
        let (deadlines, now) = (loop.configuration.deadlines, loop.eventLoop.now)
        let deadline: NIODeadline? =
            switch armedDeadline {
            case .none: nil
            // Counted from accept, so that the PROXY header and the TLS handshake are included.
            case .firstByte: opened + deadlines.head
            case .head: now + deadlines.head
            case .idle: now + loop.idleTime
            case .body, .lastResponse: now + deadlines.body
            case .linger, .firstByteWhileDraining: now + deadlines.linger
            }
        timer.set(deadline)
    }

    private func deadlinePassed() {
        guard let context else { return }
        let action = machine.deadlinePassed()
        if perform(action, context) { advance() }
    }
}

@available(*, unavailable)
extension HTTP1ConnectionHandler: Sendable {}
