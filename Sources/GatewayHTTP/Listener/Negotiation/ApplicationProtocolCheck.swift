internal import NIOCore

/// Stands in front of TLS until the client's first message is there, and refuses a client that offers protocols of which none is
/// spoken here, by the alert `no_application_protocol` (RFC 7301, section 3.2). The TLS library would go on without a protocol.
///
/// Loop-bound. Everything else is passed on to TLS as it came.
final class ApplicationProtocolCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let spoken: [String]
    private let held = PendingBytes()
    private var isDecided = false

    /// - Parameter spoken: the protocols of the listener.
    init(spoken: [String]) { self.spoken = spoken }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        if isDecided { return }
        switch ClientHello.reading(of: held.bytes, spoken: spoken) {
        case .incomplete:
            break
        case .noCommonProtocol:
            isDecided = true
            context.writeAndFlush(wrapOutboundOut(ClientHello.noApplicationProtocol), promise: nil)
            // TLS has not begun: its own handler has nothing to say at the end.
            context.close(promise: nil)
        case .acceptable:
            isDecided = true
            held.passOn(context)
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
    }
}

@available(*, unavailable)
extension ApplicationProtocolCheck: Sendable {}
