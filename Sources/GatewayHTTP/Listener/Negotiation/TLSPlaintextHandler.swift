internal import NIOCore
internal import NIOSSL

/// A handler between the TLS library and the application protocol. It bounds the memory that the library takes for
/// decrypted bytes, and closes a connection without waiting for the client.
///
/// Loop-bound.
final class TLSPlaintextHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum number of bytes that the library encrypts at once. It encrypts everything before a flush into one
    /// buffer and keeps that buffer, whose capacity is 16 KiB at first. The channel's writability changes only then.
    private static let maximumUnflushedBytes = 15 * 1024
    /// The maximum number of bytes that encryption adds to a write.
    private static let recordOverhead = 32

    private var unflushedBytes = 0

    // The library decrypts into a buffer of 32 KiB, and allocates another one while this one is in use.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(wrapInboundOut(unwrapInboundIn(data).withoutUnusedCapacity))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        while bytes.readableBytes > Self.maximumUnflushedBytes,
            let piece = bytes.readSlice(length: Self.maximumUnflushedBytes)
        {
            write(piece, context, promise: nil)
        }
        write(bytes, context, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        unflushedBytes = 0
        context.flush()
    }

    /// Sends `close_notify` and closes the connection. The TLS library would wait for the client's `close_notify`, which
    /// TLS does not require (RFC 8446, section 6.1). It would keep the connection's memory for as long, 5 s at most, even
    /// after the socket is closed.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all,
            let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        else { return context.close(mode: mode, promise: promise) }
        context.close(mode: .output, promise: nil)
        // Closes what is below TLS.
        tls.close(promise: promise)
    }

    private func write(_ bytes: ByteBuffer, _ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        let size = bytes.readableBytes + Self.recordOverhead
        if unflushedBytes > 0, unflushedBytes + size > Self.maximumUnflushedBytes + Self.recordOverhead {
            flush(context: context)
        }
        unflushedBytes += size
        context.write(wrapOutboundOut(bytes), promise: promise)
    }
}

@available(*, unavailable)
extension TLSPlaintextHandler: Sendable {}
