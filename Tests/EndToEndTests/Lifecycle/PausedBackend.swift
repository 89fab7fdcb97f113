import NIOCore
import NIOPosix
import Synchronization

/// A backend that holds each request until the test releases it.
final class PausedBackend: Sendable {
    private struct State {
        var waiting: [any Channel] = []
        var open = 0
        var isReleased = false
        var leaving: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let onArrival: @Sendable () -> Void
    private let ports = Mutex(0)

    /// The port on 127.0.0.1.
    var port: Int { ports.withLock(\.self) }

    private init(onArrival: @escaping @Sendable () -> Void) { self.onArrival = onArrival }

    /// Runs the body with such a backend.
    ///
    /// - Parameter onArrival: is called once for each request.
    static func run<Result: Sendable>(
        onArrival: @escaping @Sendable () -> Void, whileServing body: (PausedBackend) async throws -> Result
    ) async throws -> Result {
        let backend = PausedBackend(onArrival: onArrival)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                backend.joined(channel)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(backend: backend))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        backend.ports.withLock { $0 = channel.localAddress?.port ?? 0 }
        do {
            let result = try await body(backend)
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }

    /// Responds to the held requests, and from now on to each request immediately.
    func release() {
        let waiting = state.withLock { state in
            state.isReleased = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for channel in waiting { Self.answer(channel) }
    }

    /// Returns when no connection is open.
    func isLeft() async {
        await withCheckedContinuation { continuation in
            let isLeft = state.withLock { state in
                if state.open > 0 { state.leaving.append(continuation) }
                return state.open == 0
            }
            if isLeft { continuation.resume() }
        }
    }

    private func joined(_ channel: any Channel) {
        state.withLock { $0.open += 1 }
        channel.closeFuture.whenComplete { [self] _ in
            let leaving = state.withLock { state in
                state.open -= 1
                guard state.open == 0 else { return [CheckedContinuation<Void, Never>]() }
                defer { state.leaving = [] }
                return state.leaving
            }
            for continuation in leaving { continuation.resume() }
        }
    }

    private func arrived(on channel: any Channel) {
        let isReleased = state.withLock { state in
            if !state.isReleased { state.waiting.append(channel) }
            return state.isReleased
        }
        onArrival()
        if isReleased { Self.answer(channel) }
    }

    private static func answer(_ channel: any Channel) {
        channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), promise: nil)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let backend: PausedBackend
        private var received = ByteBuffer()

        init(backend: PausedBackend) { self.backend = backend }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.writeImmutableBuffer(unwrapInboundIn(data))
            // The body arrives together with its head, because the gateway writes both at once.
            guard String(buffer: received).contains("\r\n\r\n") else { return }
            received.clear()
            backend.arrived(on: context.channel)
        }
    }
}
