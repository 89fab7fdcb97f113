import NIOCore
import NIOPosix
import Synchronization

/// An HTTP service that responds to each request as a closure decides.
final class ScriptedService: Sendable {
    /// A response to a request.
    enum Move: Sendable {
        case write(String)
        case close
    }

    /// The head of a received request, as text.
    struct Seen: Sendable {
        /// The number of the connection, from 1.
        var connection: Int
        var head: String

        var line: String { head.split(separator: "\r\n").first.map(String.init) ?? "" }
        /// Returns the values of a field.
        func values(_ name: String) -> [String] {
            head.split(separator: "\r\n").dropFirst().compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
                return String(parts[1].drop { $0 == " " })
            }
        }
    }

    private struct State {
        var connections = 0
        var seen: [Seen] = []
        var open: [ObjectIdentifier: any Channel] = [:]
        var isStopped = false
    }

    private let state = Mutex(State())
    private let script: @Sendable (Seen) -> [Move]
    private let listener: Mutex<(any Channel)?> = Mutex(nil)

    private init(_ script: @escaping @Sendable (Seen) -> [Move]) { self.script = script }

    static func start(
        at address: SocketAddress? = nil, _ script: @escaping @Sendable (Seen) -> [Move]
    ) async throws -> ScriptedService {
        let service = ScriptedService(script)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(service: service))
                }
            }
            .bind(to: try address ?? SocketAddress(ipAddress: "127.0.0.1", port: 0)).get()
        service.listener.withLock { $0 = channel }
        return service
    }

    static func answer(_ status: String, _ fields: String = "", body: String = "") -> Move {
        .write("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)")
    }

    var seen: [Seen] { state.withLock { $0.seen } }
    var connections: Int { state.withLock { $0.connections } }
    var url: String { "http://127.0.0.1:\(listener.withLock { $0?.localAddress?.port } ?? 0)/verify" }

    /// Stops listening and closes all connections.
    func stop() async {
        try? await listener.withLock { $0 }?.close()
        let open = state.withLock { state in
            // A connection that becomes active later closes itself.
            state.isStopped = true
            return Array(state.open.values)
        }
        for channel in open { try? await channel.close() }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let service: ScriptedService
        private var connection = 0
        private var text = ""

        init(service: ScriptedService) { self.service = service }

        func channelActive(context: ChannelHandlerContext) {
            let channel = context.channel
            let isStopped = service.state.withLock { state in
                state.connections += 1
                state.open[ObjectIdentifier(channel)] = channel
                connection = state.connections
                return state.isStopped
            }
            if isStopped { context.close(promise: nil) }
        }

        func channelInactive(context: ChannelHandlerContext) {
            let channel = context.channel
            service.state.withLock { $0.open[ObjectIdentifier(channel)] = nil }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            while let end = text.firstRange(of: "\r\n\r\n") {
                let seen = Seen(connection: connection, head: String(text[..<end.lowerBound]))
                text = String(text[end.upperBound...])
                service.state.withLock { $0.seen.append(seen) }
                for move in service.script(seen) {
                    switch move {
                    case .write(let text):
                        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                    case .close: context.close(promise: nil)
                    }
                }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
