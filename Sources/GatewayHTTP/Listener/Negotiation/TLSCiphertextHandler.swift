internal import NIOCore

/// A handler between the socket and the TLS library, for the life of the connection. It bounds the memory that the
/// library takes for encrypted bytes.
///
/// Loop-bound. The library holds an incomplete message of the handshake, and encrypts each write into a buffer of 16 KiB
/// or more.
final class TLSCiphertextHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The setup that the bytes of the handshake count for; nil when the handshake is complete.
    private var setup: ConnectionSetup?

    init(opening setup: ConnectionSetup) { self.setup = setup }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let setup, !setup.receivedHandshake(bytes: unwrapInboundIn(data).readableBytes) {
            self.setup = nil
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
        if setup?.isFinished == true { setup = nil }
    }

    func channelInactive(context: ChannelHandlerContext) {
        setup = nil
        context.fireChannelInactive()
    }

    // A write that waits for the socket would hold the complete buffer of the library, even for a record of 31 bytes.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = unwrapOutboundIn(data)
        context.write(wrapOutboundOut(bytes.withoutUnusedCapacity), promise: promise)
    }
}

extension ByteBuffer {
    /// The same bytes, in a buffer of their own size if the present one is at least twice as large.
    var withoutUnusedCapacity: ByteBuffer {
        2 * readableBytes <= storageCapacity ? ByteBuffer(bytes: readableBytesView) : self
    }
}

@available(*, unavailable)
extension TLSCiphertextHandler: Sendable {}
