internal import NIOCore
internal import NIOTLS

/// Waits behind TLS for the end of the handshake, has the handler of the protocol that was agreed on (RFC 7301) take the place
/// behind it, and leaves.
///
/// Loop-bound.
final class ProtocolChoice: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private var opening: ConnectionOpening?

    init(opening: ConnectionOpening) { self.opening = opening }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let name)? = event as? TLSUserEvent, let opening {
            self.opening = nil
            opening.finish(name == "h2" ? .http2 : .http1, isEncrypted: true, station: context)
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
