import GatewayCore
import GatewayTesting
import Logging
import NIOCore
import NIOEmbedded

@testable import ExternalProcess

/// A pool on an event loop whose time the test turns, with the process's side of each connection in the test's hand.
final class PoolBench {
    let loop = EmbeddedEventLoop()
    /// Every connection that was made, in order.
    private(set) var channels: [EmbeddedChannel] = []
    /// How many connections were tried.
    private(set) var attempts = 0
    /// While true nobody listens.
    var isDown = false
    private(set) lazy var pool = makePool()
    private let bounds: DialoguePool.Bounds

    static let hello = #"{"type":"hello","version":1,"name":"bench","takes":["password"]}"#

    init(connections: Int = 1, queue: Int = 8) {
        bounds = DialoguePool.Bounds(connections: connections, queue: queue, timeout: .seconds(5))
    }

    /// What became of a login.
    final class Login {
        let id: String
        fileprivate(set) var verdict: Verdict?

        init(id: String) { self.id = id }
    }

    func ask(_ credential: Credential? = nil) throws -> Login {
        let credential = credential ?? .password(user: LoginName("alice"), password: Secret("secret".utf8))
        guard let request = Request(credential, peer: .documentation) else { throw ProtocolFault.transport }
        let login = Login(id: request.id)
        pool.ask(request).assumeIsolated().whenSuccess { login.verdict = $0 }
        return login
    }

    /// The process sends a frame.
    func say(_ text: String, on connection: Int = 0) throws {
        try send(Frame.around(Array(text.utf8)), on: connection)
    }

    func send(_ bytes: ByteBuffer, on connection: Int = 0) throws { try channels[connection].writeInbound(bytes) }

    func answer(_ login: Login, _ members: String, on connection: Int = 0) throws {
        try say(#"{"type":"verdict","id":"\#(login.id)",\#(members)}"#, on: connection)
    }

    /// The frames that the gateway sent on a connection since the last time, as text.
    func sent(on connection: Int = 0) throws -> [String] {
        var frames: [String] = []
        while let bytes = try channels[connection].readOutbound(as: ByteBuffer.self) {
            frames.append(String(decoding: bytes.readableBytesView.dropFirst(4), as: UTF8.self))
        }
        return frames
    }

    /// The process closes a connection.
    func hangUp(_ connection: Int = 0) {
        channels[connection].pipeline.fireChannelInactive()
        loop.run()
    }

    private func makePool() -> DialoguePool {
        DialoguePool(
            bounds, backOff: BackOff(), on: loop,
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() })
        ) { [unowned self] dialogue in
            attempts += 1
            if isDown { return loop.makeFailedFuture(ProtocolFault.transport) }
            let channel = EmbeddedChannel(handlers: [ByteToMessageHandler(FrameDecoder()), dialogue], loop: loop)
            channels.append(channel)
            do { return channel.connect(to: try SocketAddress(unixDomainSocketPath: "/socket")) } catch {
                return loop.makeFailedFuture(error)
            }
        }
    }

    /// Ends everything; a pool that is dropped while logins wait would leave their promises behind.
    func finish() {
        pool.close()
        // Cancels what was for later, by which the loop would keep itself.
        try? loop.syncShutdownGracefully()
    }
}
