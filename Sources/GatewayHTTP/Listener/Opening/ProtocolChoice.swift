internal import NIOCore
internal import NIOTLS

/// Waits behind TLS for the end of the handshake, has the protocol's handler take the place behind it, and leaves.
///
/// Loop-bound.
final class ProtocolChoice: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private var opening: ConnectionOpening?

    init(opening: ConnectionOpening) { self.opening = opening }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent, let opening {
            self.opening = nil
            do {
                try opening.encrypted()
                context.pipeline.syncOperations.removeHandler(self, promise: nil)
            } catch {
                context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    // A failed handshake has nobody to be told of it but by TLS itself.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        opening?.end()
        opening = nil
    }
}

@available(*, unavailable)
extension ProtocolChoice: Sendable {}
