import NIOCore
import NIOPosix
import Testing

/// A client that sends arbitrary bytes and returns the received ones.
final class RawClient: Sendable {
    let channel: any Channel
    private let incoming: Incoming

    private init(channel: any Channel, incoming: Incoming) {
        self.channel = channel
        self.incoming = incoming
    }

    static func connect(
        to address: SocketAddress, group: any EventLoopGroup,
        through prepare: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void = { _ in }
    ) async throws -> RawClient {
        let incoming = Incoming()
        let channel = try await ClientBootstrap(group: group)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try prepare(channel.pipeline.syncOperations)
                    try channel.pipeline.syncOperations.addHandler(Collector(incoming: incoming))
                }
            }
            .connect(to: address).get()
        return RawClient(channel: channel, incoming: incoming)
    }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    func closeOutput() async throws { try await channel.close(mode: .output) }

    /// Waits until the received bytes satisfy the condition, and removes them.
    func receive(until isEnough: @Sendable @escaping (String) -> Bool) async -> String {
        await incoming.take { isEnough($0) || $1 }
    }

    /// Waits for one response with a body that ends with the given text.
    func receive(endingWith suffix: String) async -> String { await receive { $0.hasSuffix(suffix) } }

    /// Waits until the peer has closed the connection. Returns the bytes received before that.
    func receiveToEnd() async -> String { await incoming.take { $1 } }
}

/// The received bytes, which tests can await.
private actor Incoming {
    private var text = ""
    private var hasEnded = false
    private var waiter: (isEnough: (String, Bool) -> Bool, continuation: CheckedContinuation<String, Never>)?

    func add(_ more: String) {
        text += more
        check()
    }

    func end() {
        hasEnded = true
        check()
    }

    func take(_ isEnough: @Sendable @escaping (String, Bool) -> Bool) async -> String {
        await withCheckedContinuation { continuation in
            waiter = (isEnough, continuation)
            check()
        }
    }

    private func check() {
        guard let waiter, waiter.isEnough(text, hasEnded) else { return }
        self.waiter = nil
        waiter.continuation.resume(returning: text)
        text = ""
    }
}

private final class Collector: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let events: AsyncStream<String?>.Continuation

    init(incoming: Incoming) {
        let (stream, events) = AsyncStream.makeStream(of: String?.self)
        self.events = events
        // A single task keeps the order of the bytes.
        Task {
            for await event in stream {
                if let event { await incoming.add(event) } else { await incoming.end() }
            }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        events.yield(String(buffer: unwrapInboundIn(data)))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { events.yield(nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { events.yield(nil) }

    // This also covers a connection that was never established.
    func handlerRemoved(context: ChannelHandlerContext) { events.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
