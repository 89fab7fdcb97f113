internal import NIOCore

/// A handler in front of TLS that rejects a client without a common application protocol. It sends the alert
/// `no_application_protocol` (RFC 7301, section 3.2), which the TLS library does not do by itself.
///
/// Loop-bound. It passes all other connections on to TLS unchanged and removes itself.
final class ApplicationProtocolCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let supported: [String]
    private let held = PendingBytes()
    private var hello = ClientHelloParser()
    private var isDecided = false

    /// Creates the check of one connection.
    ///
    /// - Parameter supported: The protocols that the listener supports.
    init(supported: [String]) { self.supported = supported }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        if isDecided { return }
        switch hello.parse(held.bytes, supported: supported) {
        case .incomplete:
            break
        case .noCommonProtocol:
            isDecided = true
            context.writeAndFlush(wrapOutboundOut(ClientHelloParser.noApplicationProtocol), promise: nil)
            // TLS has not started, so its handler has nothing to send on close.
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
