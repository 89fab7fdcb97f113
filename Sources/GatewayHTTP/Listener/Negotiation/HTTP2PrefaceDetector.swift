internal import NIOCore

/// A handler that detects HTTP/2 with prior knowledge (RFC 9113, section 3.3) on a connection without TLS. It adds the
/// handler of HTTP/2 or HTTP/1.1 after itself and removes itself.
///
/// Loop-bound. The first byte that differs from the preface selects HTTP/1.1. The decision is made once. Bytes that
/// arrive while the next handler is being added are kept in order.
final class HTTP2PrefaceDetector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private var setup: ConnectionSetup?
    private let held = PendingBytes()

    init(opening setup: ConnectionSetup) { self.setup = setup }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        guard let setup else { return }
        let view = held.bytes.readableBytesView.prefix(Self.preface.count)
        let isPreface = view.elementsEqual(Self.preface.prefix(view.count))
        if isPreface, view.count < Self.preface.count { return }
        self.setup = nil
        setup.finish(isPreface ? .http2 : .http1, isEncrypted: false, handler: context) { held.passOn(context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        leaveSetup()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func handlerRemoved(context: ChannelHandlerContext) { leaveSetup() }

    private func leaveSetup() {
        setup?.leave()
        setup = nil
    }
}

@available(*, unavailable)
extension HTTP2PrefaceDetector: Sendable {}
