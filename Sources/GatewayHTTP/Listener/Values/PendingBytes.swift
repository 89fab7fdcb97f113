internal import NIOCore

/// A buffer for bytes that a handler holds back until the next handler is in place. Loop-bound.
///
/// Passing bytes on can deliver more bytes before it returns: the next handler writes, the write fails, and NIO reads
/// the rest of the socket within the flush. A handler therefore appends everything that it reads, and `passOn` keeps
/// the order.
final class PendingBytes {
    /// The bytes that were not passed on yet.
    var bytes = ByteBuffer()

    /// Appends bytes.
    func append(_ more: ByteBuffer) {
        if bytes.readableBytes == 0 { bytes = more } else { bytes.writeImmutableBuffer(more) }
    }

    /// Removes and returns the first `count` bytes, or all bytes if there are fewer.
    func process(_ count: Int) -> ByteBuffer {
        guard count < bytes.readableBytes, let first = bytes.readSlice(length: count) else {
            defer { bytes = ByteBuffer() }
            return bytes
        }
        return first
    }

    /// Passes on all held bytes in order, including those that arrive meanwhile. Drops them if the channel is closed.
    func passOn(_ context: ChannelHandlerContext) {
        while bytes.readableBytes > 0, context.channel.isActive {
            let next = bytes
            bytes = ByteBuffer()
            context.fireChannelRead(NIOAny(next))
        }
        bytes = ByteBuffer()
    }
}

@available(*, unavailable)
extension PendingBytes: Sendable {}
