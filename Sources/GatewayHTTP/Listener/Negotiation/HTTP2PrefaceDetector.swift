internal import NIOCore

/// Finds out from a connection's first bytes in the clear whether they are HTTP/2 with prior knowledge (RFC 9113, section 3.3) or
/// HTTP/1.1, has the protocol's handler take the place behind it, and leaves.
///
/// Loop-bound. The first byte that is not the preface's decides, and no byte is lost. The decision is made once: bytes that arrive
/// while the protocol's handler is put up, or while it is given the first bytes, wait behind those.
final class HTTP2PrefaceDetector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private var opening: ConnectionSetup?
    private let held = PendingBytes()

    init(opening: ConnectionSetup) { self.opening = opening }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        guard let opening else { return }
        let view = held.bytes.readableBytesView.prefix(Self.preface.count)
        let isPreface = view.elementsEqual(Self.preface.prefix(view.count))
        if isPreface, view.count < Self.preface.count { return }
        self.opening = nil
        opening.finish(isPreface ? .http2 : .http1, isEncrypted: false, station: context) { held.passOn(context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        opening?.end()
        opening = nil
    }
}

@available(*, unavailable)
extension HTTP2PrefaceDetector: Sendable {}
