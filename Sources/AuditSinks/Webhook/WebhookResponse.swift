internal import AsyncHTTPClient
internal import GatewaySupport
internal import NIOCore
internal import NIOHTTP1
internal import OutboundHTTP
internal import Synchronization

/// Receives the response to one webhook request: keeps its head and discards its body, up to a limit.
final class WebhookResponse: HTTPClientResponseDelegate, Sendable {
    /// The error that a body exceeds the limit.
    struct BodyTooLong: Error {}

    /// The maximum number of bytes of a body that are read, so that the connection can be used again.
    static let maximumBodyBytes = 64 << 10

    private struct Received {
        var head: HTTPResponseHead?
        var bodyBytes = 0
    }

    private let received = Mutex(Received())

    /// The head of the response; nil if none has arrived.
    var head: HTTPResponseHead? { received.withLock(\.head) }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        received.withLock { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let total = received.withLock { received in
            received.bodyBytes += part.readableBytes
            return received.bodyBytes
        }
        guard total <= Self.maximumBodyBytes else { return task.eventLoop.makeFailedFuture(BodyTooLong()) }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {}

    /// Returns why a response with this head does not confirm the batch; nil if it does.
    static func failure(_ head: HTTPResponseHead, now: WallTime) -> DeliveryFailure? {
        let code = Int(head.status.code)
        guard !(200..<300).contains(code) else { return nil }
        let requested = head.headers.first(name: "Retry-After").flatMap { RetryAfter.wait($0, now: now) }
        let detail = (300..<400).contains(code) ? "; redirects are not followed" : ""
        return DeliveryFailure("the receiver responded with status \(code)\(detail)", retryAfter: requested)
    }
}
