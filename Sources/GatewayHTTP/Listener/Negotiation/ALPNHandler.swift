internal import NIOCore
internal import NIOTLS

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A handler after TLS that waits for the end of the handshake. It adds the handler of the negotiated protocol
/// (RFC 7301) after itself and removes itself.
///
/// Loop-bound. Bytes that arrive while the next handler is being added are kept in order.
final class ALPNHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private var setup: ConnectionSetup?
    private let held = PendingBytes()

    init(opening setup: ConnectionSetup) { self.setup = setup }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let name)? = event as? TLSUserEvent, let setup {
            self.setup = nil
            acknowledgeImmediately(context)
            setup.finish(name == "h2" ? .http2 : .http1, isEncrypted: true, handler: context) {
                held.passOn(context)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { held.append(unwrapInboundIn(data)) }

    /// Makes the system acknowledge the client's last handshake message at once.
    ///
    /// With TLS 1.3 the server sends nothing after that message, because BoringSSL sends session tickets with the first
    /// response. The system would delay the acknowledgement by 40 ms, and Nagle's algorithm on the client would delay
    /// the first request as long. Unix sockets neither have nor need this option.
    private func acknowledgeImmediately(_ context: ChannelHandlerContext) {
        #if os(Linux)
        let quickAcknowledgement = NIOBSDSocket.Option(rawValue: CInt(TCP_QUICKACK))
        try? context.channel.syncOptions?.setOption(.tcpOption(quickAcknowledgement), value: 1)
        #endif
    }

    // The TLS library itself reports a failed handshake to the client.
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
extension ALPNHandler: Sendable {}
