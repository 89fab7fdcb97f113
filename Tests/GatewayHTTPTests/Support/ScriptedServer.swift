import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server that responds to requests without a body with the steps that a closure returns, and counts its requests.
final class ScriptedServer: Sendable {
    /// One step of a response.
    enum Step: Sendable {
        case write(String)
        case wait(Signal)
        case close
    }

    /// The position of a request.
    struct Seen: Sendable, Equatable {
        /// The number of the connection, from 1.
        var connection: Int
        /// The number of the request on that connection, from 1.
        var request: Int
        /// The target of the request line.
        var target: String
    }

    struct State: Sendable {
        var connections = 0
        var closed = 0
        var seen: [Seen] = []
    }

    private let state = Mutex(State())
    private let script: @Sendable (Seen) -> [Step]
    private let channel: Mutex<(any Channel)?> = Mutex(nil)

    private init(_ script: @escaping @Sendable (Seen) -> [Step]) { self.script = script }

    static func start(
        at address: SocketAddress? = nil, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        greeting: String? = nil, tls: NIOSSLContext? = nil, _ script: @escaping @Sendable (Seen) -> [Step]
    ) async throws -> ScriptedServer {
        let server = ScriptedServer(script)
        let channel = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(Handler(server: server, greeting: greeting))
                }
            }
            .bind(to: try address ?? SocketAddress(ipAddress: "127.0.0.1", port: 0)).get()
        server.channel.withLock { $0 = channel }
        return server
    }

    var seen: [Seen] { state.withLock { $0.seen } }
    var connections: Int { state.withLock { $0.connections } }
    var closedConnections: Int { state.withLock { $0.closed } }
    var port: Int { channel.withLock { $0?.localAddress?.port ?? 0 } }

    func stop() async { try? await channel.withLock { $0 }?.close() }

    static func ok(_ body: String, _ fields: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let server: ScriptedServer
        private let greeting: String?
        private var connection = 0
        private var requests = 0
        private var text = ""

        init(server: ScriptedServer, greeting: String?) {
            self.server = server
            self.greeting = greeting
        }

        func channelActive(context: ChannelHandlerContext) {
            connection = server.state.withLock { state in
                state.connections += 1
                return state.connections
            }
            if let greeting { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: greeting)), promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) { server.state.withLock { $0.closed += 1 } }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            while let end = text.firstRange(of: "\r\n\r\n") {
                let target = text.split(separator: " ").dropFirst().first.map(String.init) ?? ""
                text = String(text[end.upperBound...])
                requests += 1
                let seen = Seen(connection: connection, request: requests, target: target)
                server.state.withLock { $0.seen.append(seen) }
                run(server.script(seen)[...], context.channel)
            }
        }

        private func run(_ steps: ArraySlice<Step>, _ channel: any Channel) { Self.run(steps, channel) }

        private static func run(_ steps: ArraySlice<Step>, _ channel: any Channel) {
            guard let step = steps.first else { return }
            switch step {
            case .write(let text): channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
            case .close: channel.close(promise: nil)
            case .wait(let signal):
                Task {
                    await signal.wait()
                    channel.eventLoop.execute { run(steps.dropFirst(), channel) }
                }
                return
            }
            run(steps.dropFirst(), channel)
        }
    }
}
