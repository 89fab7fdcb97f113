internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Receives one answer of the service: judges its head and throws its body away, up to a bound.
final class AnswerDelegate: HTTPClientResponseDelegate, Sendable {
    typealias Response = ServiceAnswer

    /// The body does not end where it should.
    struct BodyTooLong: Error {}

    private struct Received {
        var answer: ServiceAnswer?
        var bodyBytes = 0
    }

    private let received = Mutex(Received())
    private let userHeader: String
    private let groupsHeader: String

    init(userHeader: String, groupsHeader: String) {
        self.userHeader = userHeader
        self.groupsHeader = groupsHeader
    }

    func didReceiveHead(task: HTTPClient.Task<ServiceAnswer>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let answer = ServiceAnswer(head, userHeader: userHeader, groupsHeader: groupsHeader)
        received.withLock { $0.answer = answer }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<ServiceAnswer>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let total = received.withLock { received in
            received.bodyBytes += part.readableBytes
            return received.bodyBytes
        }
        guard total <= ServiceAnswer.longestBody else { return task.eventLoop.makeFailedFuture(BodyTooLong()) }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<ServiceAnswer>) throws -> ServiceAnswer {
        received.withLock { $0.answer } ?? .none("it has no head")
    }
}
