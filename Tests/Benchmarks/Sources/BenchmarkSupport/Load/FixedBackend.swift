package import NIOCore
import NIOPosix

/// A backend that answers every request with the same bytes at once, on an event loop of its own: as cheap as one can be.
package final class FixedBackend {
    /// Where it listens, on 127.0.0.1.
    package let port: Int
    private let channel: any Channel
    private let group: MultiThreadedEventLoopGroup

    /// Starts it.
    ///
    /// - Parameter time: how long it takes for an answer.
    package init(answersAfter time: TimeAmount = .zero) async throws {
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Responder(after: time))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    /// Stops it.
    package func stop() async throws {
        try await channel.close()
        try await group.shutdownGracefully()
    }

    /// A request is complete when its bytes are: the gateway writes each in one piece, and the next only after the answer.
    private final class Responder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private static let answer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        private let time: TimeAmount

        init(after time: TimeAmount) { self.time = time }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard time > .zero else { return answer(context) }
            context.eventLoop.assumeIsolated().scheduleTask(in: time) { self.answer(context) }
        }

        private func answer(_ context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(Self.answer), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
