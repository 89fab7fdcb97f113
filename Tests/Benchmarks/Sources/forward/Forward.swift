import ArgumentParser
import NIOCore
import NIOPosix

/// A proxy that looks at nothing: bytes of a client go to a connection to the backend that is the client's own, and back. What it
/// costs, no proxy on SwiftNIO can do without.
@main
struct Forward: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forward", abstract: "Forwards bytes: what SwiftNIO and the system alone cost.",
        discussion: "Example: forward --port 8080 --backend-port 8081")

    @Option(help: "Where to listen, on 127.0.0.1.") var port: Int
    @Option(help: "Where the backend listens, on 127.0.0.1.") var backendPort: Int
    @Option(help: "How many event loops.") var loops = 1

    func validate() throws {
        guard (1...64).contains(loops) else { throw ValidationError("--loops takes 1 to 64") }
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

/// Writes what one channel reads to the other.
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
