public import NIOCore
public import NIOPosix

/// A client connection that sends arbitrary bytes and returns the received ones.
public final class RawConnection: Sendable {
    /// The channel of the connection.
    public let channel: any Channel
    private let incoming: Incoming

    private init(channel: any Channel, incoming: Incoming) {
        self.channel = channel
        self.incoming = incoming
    }

    /// Connects to the address.
    ///
    /// - Parameters:
    ///   - source: the address to connect from; nil for the system's choice.
    ///   - prepare: adds the handlers that precede the connection's, for example for TLS.
    public static func connect(
        to address: SocketAddress, from source: SocketAddress? = nil,
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        through prepare: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void = { _ in }
    ) async throws -> RawConnection {
        let incoming = Incoming()
        var bootstrap = ClientBootstrap(group: group)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try prepare(channel.pipeline.syncOperations)
                    try channel.pipeline.syncOperations.addHandler(Collector(incoming: incoming))
                }
            }
        if let source { bootstrap = bootstrap.bind(to: source) }
        return RawConnection(channel: try await bootstrap.connect(to: address).get(), incoming: incoming)
    }

    /// Sends the text.
    public func send(_ text: String) async throws { try await send(bytes: Array(text.utf8)) }

    /// Sends the bytes.
    public func send(bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Closes the sending side of the connection.
    public func closeOutput() async throws { try await channel.close(mode: .output) }

    /// Waits until the received bytes satisfy the condition or the connection is closed, and removes them. Closes the
    /// connection if the task is cancelled.
    public func receiveBytes(until isEnough: @Sendable @escaping ([UInt8]) -> Bool) async -> [UInt8] {
        await withTaskCancellationHandler {
            await incoming.take { isEnough($0) || $1 }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Waits until the received text satisfies the condition or the peer has closed the connection, and removes it.
    public func receive(until isEnough: @Sendable @escaping (String) -> Bool) async -> String {
        String(decoding: await receiveBytes { isEnough(String(decoding: $0, as: UTF8.self)) }, as: UTF8.self)
    }

    /// Waits for one response with a body that ends with the given text.
    public func receive(endingWith suffix: String) async -> String { await receive { $0.hasSuffix(suffix) } }

    /// Waits until the peer has closed the connection. Returns the text received before that.
    public func receiveToEnd() async -> String {
        String(decoding: await receiveBytes { _ in false }, as: UTF8.self)
    }
}

/// The received bytes, which tests can await.
private actor Incoming {
    typealias Condition = @Sendable ([UInt8], Bool) -> Bool

    private var bytes: [UInt8] = []
    private var hasEnded = false
    private var waiter: (isEnough: Condition, continuation: CheckedContinuation<[UInt8], Never>)?

    func add(_ more: ByteBuffer) {
        bytes += more.readableBytesView
        check()
    }

    func end() {
        hasEnded = true
        check()
    }

    func take(_ isEnough: @escaping Condition) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            waiter = (isEnough, continuation)
            check()
        }
    }

    private func check() {
        guard let waiter, waiter.isEnough(bytes, hasEnded) else { return }
        self.waiter = nil
        waiter.continuation.resume(returning: bytes)
        bytes = []
    }
}

private final class Collector: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let events: AsyncStream<ByteBuffer?>.Continuation

    init(incoming: Incoming) {
        let (stream, events) = AsyncStream.makeStream(of: ByteBuffer?.self)
        self.events = events
        // A single task keeps the order of the bytes.
        Task {
            for await event in stream {
                if let event { await incoming.add(event) } else { await incoming.end() }
            }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { events.yield(unwrapInboundIn(data)) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { events.yield(nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { events.yield(nil) }

    // This also covers a connection that was never established.
    func handlerRemoved(context: ChannelHandlerContext) { events.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
