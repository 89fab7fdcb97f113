internal import GatewayCore
internal import GatewaySupport
internal import NIOCore
internal import NIOPosix

/// The channel handler of one connection to the process. It translates frames into events, and closes the connection
/// at the first protocol fault.
///
/// Bound to its event loop. It reports each event to its owner once. `closed` is always the last event.
final class ProcessConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// An event of the connection, for its owner.
    enum Event {
        case hello(Hello)
        case reply(ProcessReply)
        /// The connection closed. The fault is nil if the process closed it with no response outstanding.
        case closed(ProtocolError?)
    }

    private var state = ProtocolStateMachine()
    private var context: ChannelHandlerContext?
    private var notify: ((ProcessConnectionHandler, Event) -> Void)?
    private var isClosed = false
    /// The process's hello, once it has arrived.
    private(set) var hello: Hello?

    init(_ notify: @escaping (ProcessConnectionHandler, Event) -> Void) { self.notify = notify }

    /// Sends a request if the connection is idle, otherwise closes it.
    func send(_ request: ProcessRequest, timeLeft: TimeAmount) {
        guard let context, state.sendRequest(request.expectation) else { return close(.closed) }
        context.writeAndFlush(wrapOutboundOut(request.frame(timeLeft: timeLeft)), promise: nil)
    }

    /// Closes the connection, also while it is still being established.
    func close(_ fault: ProtocolError?) {
        guard !isClosed else { return }
        isClosed = true
        _ = state.close()
        let notify = notify
        self.notify = nil
        context?.close(promise: nil)
        notify?(self, .closed(fault))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { sendHello(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        sendHello(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let step: ProtocolStateMachine.Step?
        do throws(ProtocolError) { step = try state.receive(unwrapInboundIn(data)) } catch { return close(error) }
        switch step {
        case .hello(let hello):
            self.hello = hello
            notify?(self, .hello(hello))
        case .reply(let reply): notify?(self, .reply(reply))
        case nil: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        close(state.hasNoOutstandingFrame ? nil : .closed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { close(error as? ProtocolError ?? .transport) }

    private func sendHello(_ context: ChannelHandlerContext) {
        // The owner may have closed the connection while it was being established.
        if isClosed { return context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(Hello.frame), promise: nil)
    }
}

/// Connects to the process. It checks the socket's file before each connection, because the file may have been
/// replaced since the start.
struct SocketConnector: Sendable {
    let path: String
    let loop: any EventLoop
    let blockingPool: BlockingPool

    /// Connects with the handler. Called on the loop, where the future completes too.
    func connect(_ handler: ProcessConnectionHandler) -> EventLoopFuture<Void> {
        let handler = NIOLoopBound(handler, eventLoop: loop)
        let (path, loop, blockingPool) = (path, loop, blockingPool)
        return loop.makeFutureWithTask {
            if let fault = try await blockingPool.run({ SocketFile.fault(at: path) }) { throw fault }
        }.flatMap {
            ClientBootstrap(group: loop).channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let decoder = ByteToMessageHandler(FrameDecoder(), maximumBufferSize: 4 + Frame.maximumLength)
                    try channel.pipeline.syncOperations.addHandlers(decoder, handler.value)
                }
            }.connect(unixDomainSocketPath: path)
        }.map { _ in }
    }
}
