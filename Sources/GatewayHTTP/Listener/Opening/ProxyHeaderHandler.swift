internal import NIOCore

/// Reads the header of the PROXY protocol off a listed proxy's connection, has the next station take the place behind it, and
/// leaves. What is no header closes the connection: nobody else than the proxy is on it, and a guess would be a spoof.
///
/// Loop-bound.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var opening: ConnectionOpening?
    private var bytes = ByteBuffer()

    init(opening: ConnectionOpening) { self.opening = opening }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let opening else { return }
        bytes.writeImmutableBuffer(unwrapInboundIn(data))
        switch ProxyHeader.read(&bytes) {
        case .incomplete:
            break
        case .malformed:
            context.close(promise: nil)
        case .header(let header):
            self.opening = nil
            opening.speaks(for: header, station: context) {
                if self.bytes.readableBytes > 0 { context.fireChannelRead(self.wrapInboundOut(self.bytes)) }
            }
        }
    }

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
extension ProxyHeaderHandler: Sendable {}
