internal import NIOCore

/// The bytes that a handler of the opening holds back until the handler behind it is in place.
///
/// Passing bytes on can bring more of them before it returns: the handler behind writes, the write fails, and NIO reads the rest of
/// the socket within the flush. A handler therefore puts everything that it reads in here, and `passOn` keeps the order. Loop-bound.
final class PendingBytes {
    /// The bytes that were not passed on yet.
    var bytes = ByteBuffer()

    /// Adds bytes behind those that are held.
    func append(_ more: ByteBuffer) {
        if bytes.readableBytes == 0 { bytes = more } else { bytes.writeImmutableBuffer(more) }
    }

    /// Removes so many bytes from the front; not more than there are.
    func process(_ count: Int) -> ByteBuffer {
        guard count < bytes.readableBytes, let first = bytes.readSlice(length: count) else {
            defer { bytes = ByteBuffer() }
            return bytes
        }
        return first
    }

    /// Passes on what is held, and what comes meanwhile, in order. What a connection that has ended leaves is dropped.
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
