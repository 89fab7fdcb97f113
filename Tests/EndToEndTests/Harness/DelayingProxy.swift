import NIOCore
import NIOPosix

/// A proxy on 127.0.0.1 before a Unix socket that forwards what the server sends after a delay.
enum DelayingProxy {
    /// Runs the body with a proxy. The body receives its port.
    static func run<Result: Sendable>(
        to path: String, delay: TimeAmount, _ body: (Int) async throws -> Result
    ) async throws -> Result {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).channelInitializer { server in
                    server.eventLoop.makeCompletedFuture {
                        try server.pipeline.syncOperations.addHandler(Relay(to: client, delay: delay))
                    }
                }
                .connect(unixDomainSocketPath: path)
                .flatMapThrowing { server in
                    try client.pipeline.syncOperations.addHandler(Relay(to: server, delay: .zero))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(listener.localAddress?.port ?? 0)
            try await listener.close()
            return result
        } catch {
            try? await listener.close()
            throw error
        }
    }

    /// Forwards the bytes of one channel to another one on the same event loop.
    private final class Relay: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let other: any Channel
        private let delay: TimeAmount

        init(to other: any Channel, delay: TimeAmount) {
            self.other = other
            self.delay = delay
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            context.eventLoop.scheduleTask(in: delay) { [other] in other.writeAndFlush(bytes, promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    }
}
