internal import AsyncHTTPClient
internal import GatewaySupport
internal import NIOCore
internal import NIOHTTP1
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
    static func failure(_ head: HTTPResponseHead, now: WallTime) -> SinkFailure? {
        let code = Int(head.status.code)
        guard !(200..<300).contains(code) else { return nil }
        let requested = head.headers.first(name: "Retry-After").flatMap { RetryAfter.wait($0, now: now) }
        let detail = (300..<400).contains(code) ? "; redirects are not followed" : ""
        return SinkFailure("the receiver responded with status \(code)\(detail)", retryAfter: requested)
    }
}

/// The header field `Retry-After` (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// Returns the wait that the value asks for; nil for an invalid value.
    static func wait(_ value: String, now: WallTime) -> Duration? {
        if (1...9).contains(value.utf8.count), value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return Int(value).map { .seconds($0) }
        }
        guard let time = date(value) else { return nil }
        return .seconds(max(0, time.seconds - now.seconds))
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses the form `Sat, 21 Nov 2026 07:00:00 GMT`, which senders must use.
    private static func date(_ text: String) -> WallTime? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard text.utf8.count == 29, parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        let number = month + 1 < 10 ? "0\(month + 1)" : "\(month + 1)"
        return WallTime(rfc3339: "\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
    }
}
