internal import NIOCore
internal import NIOTLS

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Waits behind TLS for the end of the handshake, has the handler of the protocol that was agreed on (RFC 7301) take the place
/// behind it, and leaves.
///
/// Loop-bound. Bytes that arrive while the protocol's handler is put up wait until it is in place.
final class ALPNHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private var opening: ConnectionSetup?
    private let held = PendingBytes()

    init(opening: ConnectionSetup) { self.opening = opening }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let name)? = event as? TLSUserEvent, let opening {
            self.opening = nil
            acknowledgeImmediately(context)
            opening.finish(name == "h2" ? .http2 : .http1, isEncrypted: true, station: context) {
                held.passOn(context)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { held.append(unwrapInboundIn(data)) }

    /// Has the system acknowledge the client's last flight now.
    ///
    /// With TLS 1.3 the server has nothing to send after it, since BoringSSL keeps session tickets for the first answer. So the
    /// system would delay the acknowledgement for 40 ms, and Nagle's algorithm on the client's side would hold back the first
    /// request for as long. Unix sockets do not have the option, and do not need it.
    private func acknowledgeImmediately(_ context: ChannelHandlerContext) {
        #if os(Linux)
        let quickAcknowledgement = NIOBSDSocket.Option(rawValue: CInt(TCP_QUICKACK))
        try? context.channel.syncOptions?.setOption(.tcpOption(quickAcknowledgement), value: 1)
        #endif
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
extension ALPNHandler: Sendable {}
