import GatewayCore
import GatewaySupport
import NIOCore
import NIOPosix
import Synchronization

@testable import ExternalProcess

/// A process on a Unix socket that responds as a closure decides, within the protocol or not.
final class ScriptedProcess: Sendable {
    /// A response to a frame.
    enum Move: Sendable {
        /// Sends a frame with the text.
        case say(String)
        /// Sends raw bytes.
        case bytes([UInt8])
        case close
    }

    /// A received frame.
    struct Seen: Sendable {
        /// The number of the connection, from 1.
        var connection: Int
        /// The number of the frame on its connection, from 1. The first frame is the hello.
        var frame: Int
        var json: String

        /// Returns the value of a string member.
        func text(_ name: String) -> String? { (try? Frame.decodeObject(ByteBuffer(string: json)))?[name]?.string }
        var id: String { text("id") ?? "" }
    }

    private struct State {
        var connections = 0
        var seen: [Seen] = []
        var open: [ObjectIdentifier: any Channel] = [:]
    }

    static let hello = #"{"type":"hello","version":1,"name":"scripted","takes":["password","bearer"]}"#

    /// The hello of a process that reports the status of accounts.
    static let secondHello = #"{"type":"hello","version":2,"name":"scripted","takes":["password","bearer"]}"#

    static func status(on seen: Seen, _ members: String) -> Move {
        .say(#"{"type":"status","id":"\#(seen.id)",\#(members)}"#)
    }

    static func verdict(on seen: Seen, _ members: String) -> Move {
        .say(#"{"type":"verdict","id":"\#(seen.id)",\#(members)}"#)
    }

    private let state = Mutex(State())
    private let script: @Sendable (Seen) -> [Move]
    private let listener: Mutex<(any Channel)?> = Mutex(nil)

    private init(_ script: @escaping @Sendable (Seen) -> [Move]) { self.script = script }

    /// Starts a process that sends a valid hello. The closure decides the other responses.
    static func start(
        at path: String, hello: String = hello, _ verdicts: @escaping @Sendable (Seen) -> [Move]
    ) async throws -> ScriptedProcess {
        try await listen(at: path, script: { $0.frame == 1 ? [.say(hello)] : verdicts($0) })
    }

    private static func listen(
        at path: String, script: @escaping @Sendable (Seen) -> [Move]
    ) async throws -> ScriptedProcess {
        let process = ScriptedProcess(script)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        ByteToMessageHandler(FrameDecoder()), Handler(process: process))
                }
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        process.listener.withLock { $0 = channel }
        return process
    }

    var seen: [Seen] { state.withLock { $0.seen } }
    var requests: [Seen] { seen.filter { $0.frame > 1 } }
    var connections: Int { state.withLock { $0.connections } }

    /// Stops listening and closes all connections, as an exiting process does.
    func stop() async {
        try? await listener.withLock { $0 }?.close()
        for channel in state.withLock({ Array($0.open.values) }) { try? await channel.close() }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let process: ScriptedProcess
        private var connection = 0
        private var frames = 0

        init(process: ScriptedProcess) { self.process = process }

        func channelActive(context: ChannelHandlerContext) {
            let channel = context.channel
            connection = process.state.withLock { state in
                state.connections += 1
                state.open[ObjectIdentifier(channel)] = channel
                return state.connections
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            let channel = context.channel
            process.state.withLock { $0.open[ObjectIdentifier(channel)] = nil }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            frames += 1
            let seen = Seen(connection: connection, frame: frames, json: String(buffer: unwrapInboundIn(data)))
            process.state.withLock { $0.seen.append(seen) }
            for move in process.script(seen) {
                switch move {
                case .say(let text):
                    context.writeAndFlush(wrapOutboundOut(Frame.encode(Array(text.utf8))), promise: nil)
                case .bytes(let bytes): context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
                case .close: context.close(promise: nil)
                }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
