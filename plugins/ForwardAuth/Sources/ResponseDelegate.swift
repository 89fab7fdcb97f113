internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// The body of a response exceeds the limit.
struct ResponseBodyTooLong: Error {}

/// A response ended without a head.
struct ResponseWithoutHead: Error {}

/// Receives one response of the service: evaluates its head and discards its body, up to a limit.
final class ResponseDelegate<Meaning: Sendable>: HTTPClientResponseDelegate, Sendable {
    typealias Response = Meaning

    private struct Received {
        var isSent = false
        var meaning: Meaning?
        var bodyBytes = 0
    }

    private let received = Mutex(Received())
    private let meaning: @Sendable (HTTPResponseHead) -> Meaning

    init(_ meaning: @escaping @Sendable (HTTPResponseHead) -> Meaning) { self.meaning = meaning }

    /// Whether the request may have reached the service, even in part.
    var isSent: Bool { received.withLock(\.isSent) }

    func didSendRequestHead(task: HTTPClient.Task<Meaning>, _ head: HTTPRequestHead) {
        received.withLock { $0.isSent = true }
    }

    func didReceiveHead(task: HTTPClient.Task<Meaning>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let found = meaning(head)
        received.withLock { $0.meaning = found }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Meaning>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let total = received.withLock { received in
            received.bodyBytes += part.readableBytes
            return received.bodyBytes
        }
        guard total <= ServiceResponse.maximumBodySize else {
            return task.eventLoop.makeFailedFuture(ResponseBodyTooLong())
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<Meaning>) throws -> Meaning {
        guard let meaning = received.withLock({ $0.meaning }) else { throw ResponseWithoutHead() }
        return meaning
    }
}
