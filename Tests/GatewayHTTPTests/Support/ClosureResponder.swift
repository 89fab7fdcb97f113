import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore

/// A request pipeline that responds with the result of a closure. A rejection has its code as the body.
struct ClosureResponder: RequestResponder {
    var answer: @Sendable (ReceivedRequest) async -> Response

    init(_ answer: @escaping @Sendable (ReceivedRequest) async -> Response) { self.answer = answer }

    /// Responds with the path.
    static let echo = ClosureResponder { request in
        Response(status: 200, contentType: "text/plain", body: Array(request.path.readableBytesView))
    }

    /// Responds with the path, and holds a call of `/slow` between the two signals.
    static func holdingSlow(_ arrived: Signal, until mayAnswer: Signal) -> ClosureResponder {
        ClosureResponder { request in
            if String(buffer: request.path) == "/slow" {
                arrived.raise()
                await mayAnswer.wait()
            }
            return Response(status: 200, body: Array(request.path.readableBytesView))
        }
    }

    func serve(_ request: ReceivedRequest) async -> Response { await answer(request) }

    /// Paths that begin with `/own` need no backend.
    func needsBackend(_ path: ByteBuffer) -> Bool { !path.readableBytesView.starts(with: "/own".utf8) }

    func reject(_ rejection: Rejection, id: CallID) -> Response {
        let statuses: [RejectionCode: Int] = [
            .requestTimeout: 408, .payloadTooLarge: 413, .uriTooLong: 414, .expectationFailed: 417,
            .headersTooLarge: 431, .overloaded: 503, .rateLimited: 429,
        ]
        return Response(status: statuses[rejection.code] ?? 400, body: Array(rejection.code.rawValue.utf8))
    }
}
