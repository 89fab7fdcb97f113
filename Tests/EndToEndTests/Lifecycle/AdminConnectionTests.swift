import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@Suite("Connections of the admin listener")
struct AdminConnectionTests {
    /// Completes its promise with the first bytes that the connection receives.
    private final class FirstResponse: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let promise: EventLoopPromise<String>

        init(_ promise: EventLoopPromise<String>) { self.promise = promise }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            promise.succeed(String(buffer: unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) { promise.fail(ChannelError.eof) }
    }

    private static let request = "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n"

    /// Connects, sends a request, and keeps the connection open.
    private static func connect(_ port: Int) async throws -> (channel: any Channel, response: EventLoopFuture<String>) {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let promise = loop.makePromise(of: String.self)
        let channel = try await ClientBootstrap(group: loop)
            .channelInitializer { $0.pipeline.addHandler(FirstResponse(promise)) }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(ByteBuffer(string: request))
        return (channel, promise.futureResult)
    }

    @Test("Connections to the admin listener leave file descriptors for calls, and are served when others close")
    func bounded() async throws {
        try await GatewayUnderTest.run { gateway in
            let port = gateway.adminPort
            var connections: [(channel: any Channel, response: EventLoopFuture<String>)] = []
            for _ in 0..<150 { connections.append(try await Self.connect(port)) }
            for connection in connections.prefix(64) {
                #expect(try await connection.response.get().hasPrefix("HTTP/1.1 200"))
            }
            // The kernel passes connections on in their order, at most 16 of them beyond the limit. A listener without
            // a limit serves the last one within this time.
            let last = connections[149]
            let unserved = last.channel.eventLoop.makePromise(of: Bool.self)
            last.response.whenComplete { _ in unserved.succeed(false) }
            last.channel.eventLoop.scheduleTask(in: .milliseconds(300)) { unserved.succeed(true) }
            #expect(try await unserved.futureResult.get())
            #expect(try await gateway.client.call("GET", "/auth/whoami", as: "bob").status == 200)

            for connection in connections.dropLast() { try await connection.channel.close() }
            #expect(try await last.response.get().hasPrefix("HTTP/1.1 200"))
            try await last.channel.close()
        }
    }
}
