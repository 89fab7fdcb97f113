import ArgumentParser
import NIOCore
import NIOPosix

/// A proxy that forwards bytes unread between each client and its own backend connection. Its cost is the minimum for
/// any proxy on SwiftNIO.
@main
struct Forward: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forward", abstract: "Forward bytes unread, to measure the cost of SwiftNIO and the system.",
        discussion: "Example: forward --port 8080 --backend-port 8081")

    @Option(help: "The port to listen on, on 127.0.0.1.") var port: Int
    @Option(help: "The backend's port on 127.0.0.1.") var backendPort: Int
    @Option(help: "The number of event loops.") var loops = 1

    func validate() throws {
        guard (1...64).contains(loops) else { throw ValidationError("--loops needs a value from 1 to 64") }
    }

    func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let receive = FixedSizeRecvByteBufferAllocator(capacity: 4096)
        let listener = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.recvAllocator, value: receive)
            .childChannelInitializer { [backendPort] client in
                ClientBootstrap(group: client.eventLoop)
                    .channelOption(.recvAllocator, value: receive)
                    .connect(host: "127.0.0.1", port: backendPort)
                    .flatMapThrowing { backend in
                        try client.pipeline.syncOperations.addHandler(ForwardingHandler(to: backend))
                        try backend.pipeline.syncOperations.addHandler(ForwardingHandler(to: client))
                    }
            }
            .bind(host: "127.0.0.1", port: port).get()
        try await listener.closeFuture.get()
    }
}

/// Forwards the bytes that one channel reads to the other.
private final class ForwardingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
