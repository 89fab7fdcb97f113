internal import AsyncHTTPClient
internal import GatewayCore
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// The meaning of a response's head. The body is ignored.
enum ServiceResponse: Sendable, Hashable {
    /// Status 2xx with exactly one user. The name is as the service wrote it; invalid group names are dropped.
    case accepted(user: String, groups: Set<GroupName>)
    /// Status 401 or 403.
    case rejected
    /// Any other response, with the reason: a redirect to a login page, an error, a 2xx without a user.
    case invalid(String)

    /// The maximum size of the header fields in bytes. The client's decoder has no setting for it: it accepts at
    /// most 2 MiB and 256 fields, none of which is kept.
    static let maximumHeadSize = 16_384
    /// The maximum size of a body in bytes. The body is read and discarded, so that the connection can be reused.
    static let maximumBodySize = 65_536

    init(_ head: HTTPResponseHead, userHeader: String, groupsHeader: String) {
        // Each field with its colon, space and line end.
        let length = head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        guard length <= Self.maximumHeadSize else {
            self = .invalid("the response header exceeds \(Self.maximumHeadSize) bytes")
            return
        }
        switch head.status.code {
        case 200..<300:
            let users = head.headers[userHeader]
            guard users.count == 1, let user = users.first, !user.isEmpty else {
                self = .invalid("the response has not exactly one user in \(userHeader)")
                return
            }
            let names = head.headers[canonicalForm: groupsHeader].compactMap { GroupName(String($0)) }
            self = .accepted(user: user, groups: Set(names))
        case 401, 403: self = .rejected
        default: self = .invalid("the response status is \(head.status.code)")
        }
    }
}

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
        guard total <= ServiceResponse.maximumBodySize else { return task.eventLoop.makeFailedFuture(BodyTooLong()) }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<ServiceResponse>) throws -> ServiceResponse {
        received.withLock { $0.answer } ?? .invalid("the response has no head")
    }
}
