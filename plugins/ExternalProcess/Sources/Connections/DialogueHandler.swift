internal import NIOCore

/// One connection to the process: turns frames into events of the dialogue, and ends it at the first fault.
///
/// Bound to its event loop. Tells its owner each thing once, and of its end always.
final class DialogueHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Event {
        case greeted(Hello)
        case judged(Verdict)
        /// Over; nil where the process closed without owing anything.
        case ended(ProtocolFault?)
    }

    private var state = DialogueState()
    private var context: ChannelHandlerContext?
    private var tell: ((DialogueHandler, Event) -> Void)?
    private var hasEnded = false
    /// What the process takes, once it has said so.
    private(set) var hello: Hello?

    init(_ tell: @escaping (DialogueHandler, Event) -> Void) { self.tell = tell }

    /// Asks, if the dialogue is where one may ask.
    func ask(_ request: Request, timeLeft: TimeAmount) {
        guard let context, state.ask(request.id) else { return end(.closed) }
        context.writeAndFlush(wrapOutboundOut(request.frame(timeLeft: timeLeft)), promise: nil)
    }

    /// Ends the dialogue, connected or not.
    func end(_ fault: ProtocolFault?) {
        guard !hasEnded else { return }
        hasEnded = true
        _ = state.end()
        let tell = tell
        self.tell = nil
        context?.close(promise: nil)
        tell?(self, .ended(fault))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { greet(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        greet(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let step: DialogueState.Step?
        do throws(ProtocolFault) { step = try state.receive(unwrapInboundIn(data)) } catch { return end(error) }
        switch step {
        case .greeted(let hello):
            self.hello = hello
            tell?(self, .greeted(hello))
        case .judged(let verdict): tell?(self, .judged(verdict))
        case nil: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(state.owesNothing ? nil : .closed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { end(error as? ProtocolFault ?? .transport) }

    private func greet(_ context: ChannelHandlerContext) {
        // An end may have been decided while the connection was still being made.
        if hasEnded { return context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(Hello.frame), promise: nil)
    }
}
