internal import NIOCore

/// A handler that reads the PROXY protocol header of a trusted proxy's connection. It then adds the next handler after
/// itself in the pipeline and removes itself. A malformed header closes the connection, because the client would
/// otherwise be unknown.
///
/// Loop-bound. Bytes that arrive after the header are held until the next handler has been added, and then passed on to
/// it in order.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var setup: ConnectionSetup?
    private let held = PendingBytes()

    init(opening setup: ConnectionSetup) { self.setup = setup }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        guard let setup else { return }
        switch ProxyHeader.read(&held.bytes) {
        case .incomplete:
            break
        case .malformed:
            self.setup = nil
            setup.leave()
            context.close(promise: nil)
        case .header(let header):
            self.setup = nil
            setup.apply(header, handler: context) { held.passOn(context) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) {
        leaveSetup()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { leaveSetup() }

    private func leaveSetup() {
        setup?.leave()
        setup = nil
    }
}

@available(*, unavailable)
extension ProxyHeaderHandler: Sendable {}
