internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Receives one response of the service: evaluates its head and discards its body, up to a limit.
final class ResponseDelegate: HTTPClientResponseDelegate, Sendable {
    typealias Response = ServiceResponse

    /// The body exceeds the limit.
    struct BodyTooLong: Error {}

    private struct Received {
        var answer: ServiceResponse?
        var bodyBytes = 0
    }

    private let received = Mutex(Received())
    private let userHeader: String
    private let groupsHeader: String

    init(userHeader: String, groupsHeader: String) {
        self.userHeader = userHeader
        self.groupsHeader = groupsHeader
    }

    func didReceiveHead(task: HTTPClient.Task<ServiceResponse>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let answer = ServiceResponse(head, userHeader: userHeader, groupsHeader: groupsHeader)
        received.withLock { $0.answer = answer }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<ServiceResponse>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let total = received.withLock { received in
            received.bodyBytes += part.readableBytes
            return received.bodyBytes
        }
        guard total <= ServiceResponse.longestBody else { return task.eventLoop.makeFailedFuture(BodyTooLong()) }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<ServiceResponse>) throws -> ServiceResponse {
        received.withLock { $0.answer } ?? .invalid("the response has no head")
    }
}
