package import NIOCore
import NIOPosix

/// A backend that responds to every request immediately with the same bytes, on its own event loop, at the lowest
/// possible cost.
package final class FixedBackend {
    /// The port on 127.0.0.1.
    package let port: Int
    private let channel: any Channel
    private let group: MultiThreadedEventLoopGroup

    /// Starts the backend.
    ///
    /// - Parameter time: the delay of each response.
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

    /// Stops the backend.
    package func stop() async throws {
        try await channel.close()
        try await group.shutdownGracefully()
    }

    /// Each read is one complete request: the gateway writes a request in one piece, and the next one only after the
    /// response.
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
