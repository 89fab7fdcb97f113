import Gateway
import GatewayCore
import NIOCore

/// Answers requests with what a closure says, and refusals with their code as the body.
struct ClosureServing: CallServing {
    var answer: @Sendable (ReceivedRequest) async -> Answer

    init(_ answer: @escaping @Sendable (ReceivedRequest) async -> Answer) { self.answer = answer }

    /// Answers with the path.
    static let echo = ClosureServing { request in
        Answer(status: 200, contentType: "text/plain", body: Array(request.path.readableBytesView))
    }

    func serve(_ request: ReceivedRequest) async -> Answer { await answer(request) }

    /// What the gateway would answer by itself begins with `/own`.
    func needsBackend(_ path: ByteBuffer) -> Bool { !path.readableBytesView.starts(with: "/own".utf8) }

    func refuse(_ refusal: Refusal, id: CallID) -> Answer {
        let statuses: [RefusalCode: Int] = [
            .requestTimeout: 408, .payloadTooLarge: 413, .uriTooLong: 414, .expectationFailed: 417,
            .headersTooLarge: 431, .overloaded: 503,
        ]
        return Answer(status: statuses[refusal.code] ?? 400, body: Array(refusal.code.rawValue.utf8))
    }
}
