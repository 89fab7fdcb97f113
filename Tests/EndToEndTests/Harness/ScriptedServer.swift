import NIOCore
import NIOPosix
import Synchronization

/// A backend that responds with raw bytes, closes the connection early or does not respond.
struct ScriptedServer {
    enum Reaction: Sendable {
        /// Writes the bytes and leaves the connection open.
        case answer(String)
        /// Writes the bytes and closes the connection.
        case breakOff(String)
        /// Does not respond.
        case silence
    }

    /// Runs the body with a server on a free port. The server calls `react` once for each request head.
    static func run<Result: Sendable>(
        _ react: @escaping @Sendable (String) -> Reaction, _ body: (Int) async throws -> Result
    ) async throws -> Result {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(react: react))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(channel.localAddress?.port ?? 0)
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let react: @Sendable (String) -> Reaction
        private var received = ByteBuffer()

        init(react: @escaping @Sendable (String) -> Reaction) { self.react = react }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.writeImmutableBuffer(unwrapInboundIn(data))
            let text = String(buffer: received)
            guard text.contains("\r\n\r\n") else { return }
            received.clear()
            switch react(text) {
            case .answer(let bytes):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: bytes)), promise: nil)
            case .breakOff(let bytes):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: bytes)), promise: nil)
                context.close(promise: nil)
            case .silence:
                break
            }
        }
    }
}
