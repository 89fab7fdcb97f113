import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import NIOCore
import NIOEmbedded

@testable import ExternalProcess

/// A pool on an event loop whose clock the test advances. The test plays the process on each connection.
final class PoolFixture {
    let loop = EmbeddedEventLoop()
    /// Every connection that was opened, in order.
    private(set) var channels: [EmbeddedChannel] = []
    /// The number of connection attempts.
    private(set) var attempts = 0
    /// Whether connection attempts fail.
    var isDown = false
    private(set) lazy var pool = makePool()
    private let bounds: ProcessConnectionPool.Bounds

    static let hello = #"{"type":"hello","version":1,"name":"bench","takes":["password"]}"#
    /// The hello of a process that reports the status of accounts.
    static let secondHello = #"{"type":"hello","version":2,"name":"bench","takes":["password"]}"#

    private let requiresStatus: Bool

    init(connections: Int = 1, queue: Int = 8, requiresStatus: Bool = false) {
        self.requiresStatus = requiresStatus
        bounds = ProcessConnectionPool.Bounds(connections: connections, queue: queue, timeout: .seconds(5))
    }

    /// A login or a status query, and its result.
    final class Login {
        let id: String
        fileprivate(set) var reply: ProcessReply?

        /// The verdict, or why there is none; nil before the reply.
        var verdict: AuthenticationReply? {
            switch reply {
            case .verdict(let verdict): verdict
            case .unavailable(let reason): .unavailable(reason)
            case .status, nil: nil
            }
        }

        init(id: String) { self.id = id }
    }

    func submit(_ credential: Credential? = nil) throws -> Login {
        let credential = credential ?? .password(user: LoginName("alice"), password: Secret("secret".utf8))
        guard let request = Request(credential, peer: .documentation) else { throw ProtocolError.transport }
        return submit(.verification(request), id: request.id)
    }

    /// Queries the status of an account.
    func submitStatus(of user: String = "alice") throws -> Login {
        guard let request = StatusRequest(LoginName(user)) else { throw ProtocolError.transport }
        return submit(.status(request), id: request.id)
    }

    private func submit(_ request: ProcessRequest, id: String) -> Login {
        let login = Login(id: id)
        pool.query(request).assumeIsolated().whenSuccess { login.reply = $0 }
        return login
    }

    /// Sends a frame as the process.
    func say(_ text: String, on connection: Int = 0) throws {
        try send(Frame.encode(Array(text.utf8)), on: connection)
    }

    func send(_ bytes: ByteBuffer, on connection: Int = 0) throws { try channels[connection].writeInbound(bytes) }

    func answer(_ login: Login, _ members: String, on connection: Int = 0) throws {
        try say(#"{"type":"verdict","id":"\#(login.id)",\#(members)}"#, on: connection)
    }

    /// Returns the frames that the gateway sent on a connection since the last call, as text.
    func sent(on connection: Int = 0) throws -> [String] {
        var frames: [String] = []
        while let bytes = try channels[connection].readOutbound(as: ByteBuffer.self) {
            frames.append(String(decoding: bytes.readableBytesView.dropFirst(4), as: UTF8.self))
        }
        return frames
    }

    /// Closes a connection as the process.
    func hangUp(_ connection: Int = 0) {
        channels[connection].pipeline.fireChannelInactive()
        loop.run()
    }

    private func makePool() -> ProcessConnectionPool {
        ProcessConnectionPool(
            bounds, backOff: Backoff(), on: loop,
            logger: Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }), requiresStatus: requiresStatus
        ) { [unowned self] connection in
            attempts += 1
            if isDown { return loop.makeFailedFuture(ProtocolError.transport) }
            let channel = EmbeddedChannel(handlers: [ByteToMessageHandler(FrameDecoder()), connection], loop: loop)
            channels.append(channel)
            do { return channel.connect(to: try SocketAddress(unixDomainSocketPath: "/socket")) } catch {
                return loop.makeFailedFuture(error)
            }
        }
    }

    /// Closes the pool, so that the promises of waiting logins complete.
    func finish() {
        pool.close()
        // Cancels the scheduled tasks, which would keep the loop alive.
        try? loop.syncShutdownGracefully()
    }
}
