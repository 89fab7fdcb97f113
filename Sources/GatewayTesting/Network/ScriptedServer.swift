public import NIOCore
internal import NIOPosix
internal import Synchronization

/// An HTTP/1.1 server that responds to each request with the steps that a closure returns, and records the requests.
///
/// The server writes exactly the given text, so a script can also write what is not HTTP.
public final class ScriptedServer: Sendable {
    /// One step of a response.
    public enum Step: Sendable {
        /// Writes the text.
        case write(String)
        /// Waits for the signal before the next step.
        case wait(Signal)
        /// Runs the closure outside of the event loop, and continues with the steps that it returns.
        case later(@Sendable () async -> [Step])
        /// Closes the sending side of the connection.
        case closeOutput
        /// Closes the connection.
        case close
    }

    /// A received request.
    public struct Request: Sendable {
        /// The number of the connection, from 1.
        public let connection: Int
        /// The number of the request on that connection, from 1.
        public let number: Int
        /// The request line and the fields, without the empty line.
        public let head: String
        /// The body, whose length `Content-Length` determines.
        public let body: [UInt8]
        /// The whole request.
        public let bytes: [UInt8]

        /// The request line.
        public var line: String { head.split(separator: "\r\n").first.map(String.init) ?? "" }

        /// The target of the request line.
        public var target: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }

        /// Returns the values of the fields with this name.
        public func values(_ name: String) -> [String] {
            head.split(separator: "\r\n").dropFirst().compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
                return String(parts[1].drop { $0 == " " })
            }
        }
    }

    /// The connections and the requests of the server so far.
    public struct Progress: Sendable {
        /// The number of accepted connections.
        public fileprivate(set) var connections = 0
        /// The number of connections that are closed again.
        public fileprivate(set) var closed = 0
        /// The requests, in order.
        public fileprivate(set) var seen: [Request] = []
        fileprivate var open: [Int: any Channel] = [:]
        fileprivate var isStopped = false
    }

    fileprivate let progress = AwaitableValue(Progress())
    private let script: @Sendable (Request) -> [Step]
    private let keepsRequests: Bool
    private let listener = Mutex<(any Channel)?>(nil)

    private init(keepingRequests: Bool, _ script: @escaping @Sendable (Request) -> [Step]) {
        keepsRequests = keepingRequests
        self.script = script
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - address: the address to listen on; nil for a free port of 127.0.0.1.
    ///   - greeting: text that is written to each new connection.
    ///   - keepingRequests: whether `seen` contains the requests. A test with a million of them does not keep them.
    ///   - prepare: adds the handlers that precede the server's, for example for TLS.
    ///   - script: returns the steps of a response. Runs on the event loop of the connection.
    public static func start(
        at address: SocketAddress? = nil, greeting: String? = nil, keepingRequests: Bool = true,
        through prepare: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void = { _ in },
        _ script: @escaping @Sendable (Request) -> [Step]
    ) async throws -> ScriptedServer {
        let server = ScriptedServer(keepingRequests: keepingRequests, script)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try prepare(channel.pipeline.syncOperations)
                    try channel.pipeline.syncOperations.addHandler(Handler(server: server, greeting: greeting))
                }
            }
            .bind(to: try address ?? SocketAddress(ipAddress: "127.0.0.1", port: 0)).get()
        server.listener.withLock { $0 = listener }
        return server
    }

    /// Runs the body with a server on a free port of 127.0.0.1.
    public static func run<Result: Sendable>(
        keepingRequests: Bool = true, _ script: @escaping @Sendable (Request) -> [Step],
        _ body: (ScriptedServer) async throws -> Result
    ) async throws -> Result {
        let server = try await start(keepingRequests: keepingRequests, script)
        do {
            let result = try await body(server)
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }

    /// The requests so far, in order.
    public var seen: [Request] { progress.current.seen }

    /// The number of accepted connections.
    public var connections: Int { progress.current.connections }

    /// The port, or 0 for a Unix socket.
    public var port: Int { listener.withLock { $0?.localAddress?.port } ?? 0 }

    /// Records the request and returns the steps of its response.
    fileprivate func steps(for request: Request) -> [Step] {
        if keepsRequests { progress.withLock { $0.seen.append(request) } }
        return script(request)
    }

    /// Returns once the condition holds.
    public func wait(until isMet: @escaping @Sendable (Progress) -> Bool) async { await progress.wait(until: isMet) }

    /// Stops listening and closes all connections.
    public func stop() async {
        try? await listener.withLock { $0 }?.close()
        let open = progress.withLock { progress in
            // A connection that becomes active later closes itself.
            progress.isStopped = true
            return Array(progress.open.values)
        }
        for channel in open { try? await channel.close() }
    }

    /// Returns a response with status 200.
    public static func ok(_ body: String, _ fields: String = "") -> String { response("200 OK", fields, body: body) }

    /// Returns a response with a length.
    public static func response(_ status: String, _ fields: String = "", body: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }
}

/// Splits the bytes of one connection into requests and runs the steps of their responses.
private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: ScriptedServer
    private let greeting: String?
    private var connection = 0
    private var requests = 0
    private var received: [UInt8] = []

    init(server: ScriptedServer, greeting: String?) {
        self.server = server
        self.greeting = greeting
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        let (number, isStopped) = server.progress.withLock { progress in
            progress.connections += 1
            progress.open[progress.connections] = channel
            return (progress.connections, progress.isStopped)
        }
        connection = number
        if isStopped { return context.close(promise: nil) }
        if let greeting { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: greeting)), promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let connection = connection
        server.progress.withLock { progress in
            progress.closed += 1
            progress.open[connection] = nil
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        while let request = nextRequest() {
            Self.run(server.steps(for: request)[...], context.channel)
        }
    }

    /// Removes the first request from the received bytes; nil if it is not complete.
    private func nextRequest() -> ScriptedServer.Request? {
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        func request(_ body: some Sequence<UInt8>, _ bytes: some Sequence<UInt8>) -> ScriptedServer.Request {
            ScriptedServer.Request(
                connection: connection, number: requests + 1,
                head: String(decoding: received[..<end.lowerBound], as: UTF8.self), body: Array(body),
                bytes: Array(bytes))
        }
        let length = request([], []).values("Content-Length").first.flatMap { Int($0) } ?? 0
        guard received.count - end.upperBound >= length else { return nil }
        let next = end.upperBound + length
        let complete = request(received[end.upperBound..<next], received[..<next])
        received.removeFirst(next)
        requests += 1
        return complete
    }

    private static func run(_ steps: ArraySlice<ScriptedServer.Step>, _ channel: any Channel) {
        guard let step = steps.first else { return }
        let rest = steps.dropFirst()
        switch step {
        case .write(let text): channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        case .closeOutput: channel.close(mode: .output, promise: nil)
        case .close: channel.close(promise: nil)
        case .wait(let signal):
            Task {
                await signal.wait()
                channel.eventLoop.execute { run(rest, channel) }
            }
            return
        case .later(let decide):
            Task {
                let steps = await decide()
                channel.eventLoop.execute { run(steps + rest, channel) }
            }
            return
        }
        run(rest, channel)
    }
}
