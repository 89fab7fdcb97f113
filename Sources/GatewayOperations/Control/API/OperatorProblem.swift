internal import GatewaySupport
internal import Hummingbird
internal import NIOCore

/// A rejected or failed request of the operator API, as a problem document (RFC 9457).
struct OperatorProblem: Error, Sendable, Hashable {
    /// The kind of problem. Its word is the last part of `type`.
    enum Code: String, Sendable, Hashable, CaseIterable {
        case malformedRequest = "malformed-request"
        case notAnOperator = "not-an-operator"
        case noRoute = "no-route"
        case notFound = "not-found"
        case methodNotAllowed = "method-not-allowed"
        case requestTimeout = "request-timeout"
        case payloadTooLarge = "payload-too-large"
        case unsupportedMediaType = "unsupported-media-type"
        case refused
        case headersTooLarge = "headers-too-large"
        case internalError = "internal-error"
        case overloaded
        case unavailable
        case draining
    }

    let code: Code
    /// A sentence for the operator.
    let detail: String
    /// Further members of the document.
    var members: [JSONValue.Member] = []

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Creates the problem of a failed operation.
    init(_ error: ControlError) {
        let code: Code =
            switch error.kind {
            case .refused: .refused
            case .notFound: .notFound
            case .malformed: .malformedRequest
            case .unavailable: .unavailable
            }
        self.init(code, error.reason)
    }

    /// The prefix of `type`.
    static let typePrefix = "urn:notify-gateway:problem:"
    static let contentType = "application/problem+json"

    /// The document.
    var document: JSONValue {
        .object(
            [
                .init("type", .string(Self.typePrefix + code.rawValue)), .init("title", .string(code.title)),
                .init("status", .number(String(code.status.code))), .init("detail", .string(detail)),
            ] + members)
    }

    /// Returns the error that a problem document of a gateway describes; nil if the value is no such document.
    static func error(_ document: JSONValue) -> ControlError? {
        guard let type = document["type"]?.string, type.hasPrefix(typePrefix),
            let code = Code(rawValue: String(type.dropFirst(typePrefix.count)))
        else { return nil }
        return ControlError(code.kind, document["detail"]?.string ?? code.title)
    }
}

extension OperatorProblem.Code {
    /// The status of the response.
    var status: HTTPResponse.Status {
        switch self {
        case .malformedRequest: .badRequest
        case .notAnOperator: .forbidden
        case .noRoute, .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .requestTimeout: .requestTimeout
        case .payloadTooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .refused: .unprocessableContent
        case .headersTooLarge: .requestHeaderFieldsTooLarge
        case .internalError: .internalServerError
        case .overloaded, .unavailable, .draining: .serviceUnavailable
        }
    }

    /// The title of the document.
    var title: String {
        switch self {
        case .malformedRequest: "The request is malformed."
        case .notAnOperator: "The user is not an operator."
        case .noRoute: "There is no such resource."
        case .notFound: "The object does not exist."
        case .methodNotAllowed: "The resource does not have this method."
        case .requestTimeout: "The request did not arrive in time."
        case .payloadTooLarge: "The body is too large."
        case .unsupportedMediaType: "The body must be application/json."
        case .refused: "The gateway refuses the request, or it found a problem."
        case .headersTooLarge: "The head of the request is too large."
        case .internalError: "The gateway failed."
        case .overloaded: "Too many requests are in progress."
        case .unavailable: "A required resource is unavailable."
        case .draining: "The gateway is stopping."
        }
    }

    /// The kind of error that the problem is for a command.
    fileprivate var kind: ControlError.Kind {
        switch self {
        case .malformedRequest, .requestTimeout, .payloadTooLarge, .unsupportedMediaType, .headersTooLarge, .noRoute,
            .methodNotAllowed:
            .malformed
        case .notAnOperator, .refused: .refused
        case .notFound: .notFound
        case .internalError, .overloaded, .unavailable, .draining: .unavailable
        }
    }
}

extension Response {
    /// Creates the response with a problem document.
    init(_ problem: OperatorProblem) {
        self.init(status: problem.code.status, json: problem.document, contentType: OperatorProblem.contentType)
    }

    /// Creates a response with a JSON document.
    init(status: HTTPResponse.Status = .ok, json: JSONValue, contentType: String = "application/json") {
        self.init(
            status: status, headers: [.contentType: contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONWriter.bytes(of: json) + [UInt8(ascii: "\n")])))
    }
}
