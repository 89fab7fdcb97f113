internal import NIOCore

/// Reads the header of the PROXY protocol off a listed proxy's connection, has the next station take the place behind it, and
/// leaves. What is no header closes the connection: nobody else than the proxy is on it, and a guess would be a spoof.
///
/// Loop-bound. Bytes that arrive while the next station is put up wait behind those that followed the header.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var opening: ConnectionSetup?
    private let held = PendingBytes()

    init(opening: ConnectionSetup) { self.opening = opening }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        guard let opening else { return }
        switch ProxyHeader.read(&held.bytes) {
        case .incomplete:
            break
        case .malformed:
            self.opening = nil
            opening.end()
            context.close(promise: nil)
        case .header(let header):
            self.opening = nil
            opening.speaks(for: header, station: context) { held.passOn(context) }
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
