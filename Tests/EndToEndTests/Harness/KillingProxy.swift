import Foundation
import GatewayTesting
import NIOCore
import NIOPosix
import Synchronization

/// A proxy between a gateway and its backend that kills the gateway, or closes its connection, at one point of one
/// request.
final class KillingProxy: Sendable {
    /// The point within a request at which the gateway is killed.
    enum Point: String, Sendable, CaseIterable {
        /// The request has reached the proxy, and the backend has not received it.
        case arrived
        /// The backend has processed the request, and the gateway has not received the response.
        case carriedOut = "carried-out"
        /// The response was sent.
        case answered
    }

    private struct State {
        var victim: Int32?
        var breaks = false
        var point: Point?
        var remaining = 0
        var seen: [String] = []
    }

    private let state = Mutex(State())
    private let backend: Int

    private init(backend: Int) { self.backend = backend }

    /// The method and the target of each request, in order.
    var seen: [String] { state.withLock(\.seen) }

    /// Arms the proxy to kill the victim at the point of the request that follows the given number of requests.
    func kill(_ victim: Int32, at point: Point, after requests: Int) {
        state.withLock { ($0.victim, $0.point, $0.remaining) = (victim, point, requests) }
    }

    /// Sets whether the proxy closes the connection of each registration update after the backend has processed it.
    func breakOff(_ breaks: Bool) { state.withLock { $0.breaks = breaks } }

    /// Whether the victim was killed.
    var hasKilled: Bool { state.withLock { $0.victim == nil } }

    /// Runs the body with a proxy for the backend. The body receives the port of the proxy.
    static func run<Result: Sendable>(
        backend: Int, _ body: (KillingProxy, Int) async throws -> Result
    ) async throws -> Result {
        let proxy = KillingProxy(backend: backend)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(proxy))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(proxy, channel.localAddress?.port ?? 0)
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }

    /// Returns the point at which the victim is killed during this request, if any.
    private func take(_ request: CapturedRequest) -> Point? {
        state.withLock { state in
            state.seen.append("\(request.method) \(request.target)")
            guard state.victim != nil else { return nil }
            if state.remaining > 0 {
                state.remaining -= 1
                return nil
            }
            return state.point
        }
    }

    private func strike() {
        let victim = state.withLock { state in
            defer { state.victim = nil }
            return state.victim
        }
        if let victim { Foundation.kill(victim, SIGKILL) }
    }

    private func serve(_ request: CapturedRequest, on channel: any Channel) async {
        let point = take(request)
        if point == .arrived { return strike() }
        guard let answer = try? await RawClient(port: backend).send(request.bytes) else { return }
        if point == .carriedOut { return strike() }
        if request.method == "PUT", state.withLock(\.breaks) {
            try? await channel.close()
            return
        }
        var text = "HTTP/1.1 \(answer.status) -\r\nContent-Length: \(answer.body.count)\r\n"
        if let type = answer.field("Content-Type") { text += "Content-Type: \(type)\r\n" }
        try? await channel.writeAndFlush(ByteBuffer(string: text + "\r\n" + answer.text)).get()
        if point == .answered { strike() }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let proxy: KillingProxy
        private var received = ByteBuffer()

        init(_ proxy: KillingProxy) { self.proxy = proxy }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.writeImmutableBuffer(unwrapInboundIn(data))
            // The request is nil until it is complete. The gateway sends no second request before the response.
            guard let request = CapturedRequest(received) else { return }
            received.clear()
            let (proxy, channel) = (proxy, context.channel)
            Task { await proxy.serve(request, on: channel) }
        }
    }
}
