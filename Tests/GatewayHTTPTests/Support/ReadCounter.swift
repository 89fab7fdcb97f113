import NIOCore

/// Counts the reads of a channel from its socket. It is the first handler of a pipeline.
final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private(set) var count = 0

    func read(context: ChannelHandlerContext) {
        count += 1
        context.read()
    }
}
