import Foundation
import GatewayTesting
import NIOCore

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

    private let state = AwaitableValue(State())
    private let backend: Int

    private init(backend: Int) { self.backend = backend }

    /// The method and the target of each request, in order.
    var seen: [String] { state.current.seen }

    /// Arms the proxy to kill the victim at the point of the request that follows the given number of requests.
    func kill(_ victim: Int32, at point: Point, after requests: Int) {
        state.withLock { ($0.victim, $0.point, $0.remaining) = (victim, point, requests) }
    }

    /// Sets whether the proxy closes the connection of each registration update after the backend has processed it.
    func breakOff(_ breaks: Bool) { state.withLock { $0.breaks = breaks } }

    /// Returns once the victim was killed.
    func untilKilled() async { await state.wait { $0.victim == nil } }

    /// Runs the body with a proxy for the backend. The body receives the port of the proxy.
    static func run<Result: Sendable>(
        backend: Int, _ body: (KillingProxy, Int) async throws -> Result
    ) async throws -> Result {
        let proxy = KillingProxy(backend: backend)
        return try await ScriptedServer.run { request in
            guard let request = CapturedRequest(ByteBuffer(bytes: request.bytes)) else { return [] }
            return [.later { await proxy.response(to: request) }]
        } _: { server in
            try await body(proxy, server.port)
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

    /// Kills the victim and returns no further step.
    private func strike() -> [ScriptedServer.Step] {
        if let victim = state.current.victim { Foundation.kill(victim, SIGKILL) }
        // The signal is sent before a waiter resumes.
        state.withLock { $0.victim = nil }
        return []
    }

    /// Forwards the request to the backend unless the victim is killed before that, and returns the response.
    private func response(to request: CapturedRequest) async -> [ScriptedServer.Step] {
        let point = take(request)
        if point == .arrived { return strike() }
        guard let answer = try? await RawClient(port: backend).send(request.bytes) else { return [] }
        if point == .carriedOut { return strike() }
        if request.method == "PUT", state.current.breaks { return [.close] }
        let type = answer.field("Content-Type").map { "Content-Type: \($0)\r\n" } ?? ""
        let bytes = ScriptedServer.response("\(answer.status) -", type, body: answer.text)
        return point == .answered ? [.write(bytes), .later { self.strike() }] : [.write(bytes)]
    }
}
