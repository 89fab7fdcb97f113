import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// An HTTP receiver with TLS.
enum TLSReceiver {
    static func start(_ certificate: TestCertificate) async throws -> ScriptedServer {
        let context = try certificate.serverContext()
        return try await ScriptedServer.start { pipeline in
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        } _: { _ in
            [.write(ScriptedServer.ok(""))]
        }
    }
}

/// A syslog server that collects what it receives, over TLS or a Unix socket of the type SOCK_STREAM.
final class SyslogReceiver: Sendable {
    /// All bytes of each connection.
    let received = AwaitableValue<[[UInt8]]>([])
    private let listener = Mutex<(any Channel)?>(nil)
    private let connections = Mutex<[any Channel]>([])
    /// The number of bytes after which a connection is closed; nil for no limit. Applies to the first connection.
    private let limit: Int?

    private init(limit: Int?) { self.limit = limit }

    static func start(
        at address: SocketAddress? = nil, tls certificate: TestCertificate? = nil, closingAfter limit: Int? = nil
    ) async throws -> SyslogReceiver {
        let receiver = SyslogReceiver(limit: limit)
        let context = try certificate?.serverContext()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.addHandler(Collector(receiver: receiver))
                }
            }
            .bind(to: try address ?? SocketAddress(ipAddress: "127.0.0.1", port: 0)).get()
        receiver.listener.withLock { $0 = channel }
        return receiver
    }

    var port: Int { listener.withLock { $0?.localAddress?.port } ?? 0 }

    func stop() async { try? await listener.withLock { $0 }?.close() }

    /// Closes the open connections.
    func closeConnections() async {
        for connection in connections.withLock({ $0 }) { try? await connection.close() }
    }

    /// The numbers of the complete messages, in order of arrival, with their frames removed.
    var numbers: [Int] { received.current.flatMap { Self.messages($0) }.flatMap { lineNumbers($0) } }

    /// Splits a stream into messages (RFC 5425, section 4.3). Leaves out an incomplete one at the end.
    static func messages(_ stream: [UInt8]) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var rest = stream[...]
        while let space = rest.firstIndex(of: UInt8(ascii: " ")),
            let length = Int(String(decoding: rest[..<space], as: UTF8.self)), rest.endIndex - space - 1 >= length
        {
            messages.append(Array(rest[(space + 1)..<(space + 1 + length)]))
            rest = rest[(space + 1 + length)...]
        }
        return messages
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let receiver: SyslogReceiver
        private var index = 0

        init(receiver: SyslogReceiver) { self.receiver = receiver }

        func handlerAdded(context: ChannelHandlerContext) {
            receiver.connections.withLock { $0.append(context.channel) }
            index = receiver.received.withLock { received in
                received.append([])
                return received.count - 1
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data).readableBytesView
            let total = receiver.received.withLock { received in
                received[index] += bytes
                return received[index].count
            }
            if index == 0, let limit = receiver.limit, total >= limit { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
