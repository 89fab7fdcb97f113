import Hummingbird
import Logging
import NIOCore

/// What the embedded server serves: the calls of a notify-users backend, or the REST interface of a hub.
enum BackendInterface: Sendable {
    case notifyUsers(NotifyUsersAPI)
    case hub(HubAPI)

    /// Returns the response to a request.
    func response(to request: BackendRequest) -> BackendResponse {
        switch self {
        case .notifyUsers(let api): api.response(to: request)
        case .hub(let api): api.response(to: request)
        }
    }

    /// Returns the user name in the request's credential, not verified; nil if there is none.
    func user(in authorization: String?) -> String? {
        switch self {
        case .notifyUsers(let api):
            (try? BasicCredential(authorization: authorization, flavor: api.flavor))?.user
        case .hub: nil
        }
    }
}

/// The adapter between Hummingbird's requests and the interface's values. It also routes inspections.
struct BackendResponder: HTTPResponder {
    typealias Context = BasicRequestContext

    /// The maximum size of a body in bytes.
    static let maximumBody = 64 << 10

    let interface: BackendInterface
    let inspection: InspectionEndpoints
    let onRequest: (@Sendable (RequestSummary) -> Void)?

    func respond(to request: Request, context: Context) async throws -> Response {
        let target = request.head.path ?? "/"
        let accept = request.headers[.accept]
        if let response = inspection.response(method: request.method.rawValue, target: target, accept: accept) {
            return response
        }
        let authorization = request.headers[values: .authorization].first
        onRequest?(
            RequestSummary(
                method: request.method.rawValue, target: target, user: interface.user(in: authorization)))
        guard let body = try await collect(request.body) else {
            return Response(BackendResponse(413))
        }
        let answer = interface.response(
            to: BackendRequest(
                method: request.method.rawValue,
                target: target,
                host: request.head.authority ?? "",
                authorization: authorization,
                contentType: request.headers[.contentType],
                accept: accept,
                body: body,
                fields: Dictionary(request.headers.map { ($0.name.canonicalName, $0.value) }) { first, _ in first }
            )
        )
        context.logger.debug(
            "Backend call answered",
            metadata: ["method": "\(request.method)", "status": "\(answer.status)"]
        )
        let response = Response(answer)
        // RFC 9110, section 9.3.2: a body after the head would be read as the next response.
        return request.method == .head ? response.createHeadResponse() : response
    }

    /// Returns the body; nil if it is too large. Hummingbird discards the rest before the next request.
    private func collect(_ body: RequestBody) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        for try await part in body {
            guard bytes.count + part.readableBytes <= Self.maximumBody else { return nil }
            bytes.append(contentsOf: part.readableBytesView)
        }
        return bytes
    }
}

extension Response {
    /// Creates a Hummingbird response with a `Content-Length`.
    init(_ answer: BackendResponse) {
        let body = ByteBuffer(string: answer.body)
        var headers: HTTPFields = [.contentLength: String(body.readableBytes)]
        headers[.contentType] = answer.contentType
        headers[.allow] = answer.allow
        for (name, value) in answer.fields {
            if let name = HTTPFields.Element.Name(name) { headers[name] = value }
        }
        self.init(status: .init(code: answer.status), headers: headers, body: .init(byteBuffer: body))
    }
}

/// A summary of one request to the embedded backend, for tests and for the backend's log.
public struct RequestSummary: Sendable, Equatable {
    /// The method as sent, such as `POST`.
    public let method: String
    /// The path and query as sent, not decoded.
    public let target: String
    /// The user name in the Basic credential, which is not verified yet; nil if there is no readable credential.
    public let user: String?

    /// Creates a summary.
    public init(method: String, target: String, user: String?) {
        self.method = method
        self.target = target
        self.user = user
    }
}
