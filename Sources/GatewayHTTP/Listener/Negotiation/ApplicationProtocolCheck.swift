internal import NIOCore

/// A handler in front of TLS that rejects a client whose ALPN extension offers no protocol that the listener supports.
/// A client that offers no protocols is accepted. It sends the alert `no_application_protocol` (RFC 7301, section 3.2),
/// which the TLS library does not do by itself. It also rejects a ClientHello that is too long to be held.
///
/// Loop-bound. It passes all other connections on to TLS unchanged and removes itself. The reply of TLS to a
/// ClientHello needs a signature, which is expensive to compute, so handshakes take turns (`TurnScheduler`). While a
/// ClientHello waits for its turn, the socket is not read.
final class ApplicationProtocolCheck: ChannelDuplexHandler, RemovableChannelHandler, TurnTaker {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let supported: [String]
    private let scheduler: TurnScheduler
    private let owner: TurnOwner
    private let held = PendingBytes()
    private var hello = ClientHelloParser()
    private var isDecided = false
    /// The context while the ClientHello waits for its turn.
    private var waiting: ChannelHandlerContext?
    private var hasDeferredRead = false

    /// Creates the check of one connection.
    ///
    /// - Parameters:
    ///   - supported: The protocols that the listener supports.
    ///   - owner: What the connection's turns are counted against: the client's network, or this connection alone.
    init(supported: [String], scheduler: TurnScheduler, owner: TurnOwner) {
        self.supported = supported
        self.scheduler = scheduler
        self.owner = owner
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        if isDecided { return }
        switch hello.parse(held.bytes, supported: supported) {
        case .incomplete:
            break
        case .noCommonProtocol:
            reject(ClientHelloParser.noApplicationProtocol, context)
        case .tooLong:
            reject(ClientHelloParser.illegalParameter, context)
        case .acceptable:
            isDecided = true
            guard scheduler.unitsForArrival() > 0 else {
                waiting = context
                return scheduler.enqueue(self, of: owner)
            }
            let began = context.eventLoop.now
            held.passOn(context)
            scheduler.spend(units: 1, time: context.eventLoop.now - began)
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
    }

    private func reject(_ alert: ByteBuffer, _ context: ChannelHandlerContext) {
        isDecided = true
        held.bytes = ByteBuffer()
        context.writeAndFlush(wrapOutboundOut(alert), promise: nil)
        // TLS has not started, so its handler has nothing to send on close.
        context.close(promise: nil)
    }

    func takeTurn(units: Int) -> Int {
        guard let context = waiting else { return 0 }
        waiting = nil
        held.passOn(context)
        // For TLS, a turn is equivalent to a read from the socket.
        context.fireChannelReadComplete()
        if hasDeferredRead { context.read() }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        return 1
    }

    func read(context: ChannelHandlerContext) {
        if waiting != nil { hasDeferredRead = true } else { context.read() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { waiting = nil }
}

@available(*, unavailable)
extension ApplicationProtocolCheck: Sendable {}
