internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// The handling of a rejection: records it if the caller is known or a login failed, logs it, and creates the response.
struct RejectionResponder: Sendable {
    let challenges: [Response.Field]
    let recording: RejectionRecorder
    let logins: FailedLoginRecorder
    let log: RejectionLog
    let logger: Logger

    // Built once, because it is needed most often under overload.
    private static let overloadedResponse = ProblemDocument.response(
        Rejection(.overloaded, "", extra: .retryAfter(seconds: 1)))

    /// Records and logs the rejection, and returns the response to the client.
    @inline(never)
    func response(_ rejection: Rejection, of call: CallID) -> Response {
        if let facts = rejection.facts, facts.user != nil { recording.record(rejection, facts) }
        let isLogged = logins.record(rejection, logger)
        // At the level debug each rejected call has its own line.
        if !isLogged || logger.logLevel <= .debug { log.record(rejection, of: call, logger) }
        if rejection.code == .overloaded, rejection.hint == nil, case .retryAfter(1) = rejection.extra {
            return Self.overloadedResponse
        }
        return ProblemDocument.response(rejection, challenges: challenges)
    }

    /// Writes the coalesced records and lines that are due; all of them if this is the last call.
    func flush(all: Bool) {
        recording.flush(all: all)
        logins.flush(all: all, logger)
        log.flush(all: all, logger)
    }
}

/// The response to a rejected call: a problem document (RFC 9457) without internal details and without any byte of the
/// request.
enum ProblemDocument {
    /// Returns the response with the status, the problem document and the fields that the rejection requires.
    static func response(_ rejection: Rejection, challenges: [Response.Field] = []) -> Response {
        let status = rejection.code.status
        var members: [JSONValue.Member] = [
            .init("type", .string("urn:notify-gateway:problem:\(rejection.code.rawValue)")),
            .init("title", .string(rejection.code.title)),
            .init("status", .number(String(status))),
        ]
        if let hint = rejection.hint { members.append(.init("detail", .string(hint))) }
        var fields = [Response.Field.noStore]
        if status == 401 { fields += challenges }
        switch rejection.extra {
        case .allow(let methods):
            fields.append(.init("Allow", methods.map(\.rawValue).joined(separator: ", ")))
        case .retryAfter(let seconds):
            fields.append(.init("Retry-After", String(max(1, seconds))))
        case .limit(let name, let seconds):
            members.append(.init("limit", .string(name)))
            fields.append(.init("Retry-After", String(max(1, seconds))))
        case .audience(let counts):
            members += counts
        case nil:
            break
        }
        var response = Response(
            status: status, contentType: "application/problem+json", fields: fields,
            body: JSONWriter.bytes(of: .object(members)))
        response.rejection = rejection.code
        return response
    }

    /// Returns a `WWW-Authenticate` field for each accepted scheme (RFC 9110, section 11.6.1).
    static func challenges(for kinds: [CredentialKind]) -> [Response.Field] {
        kinds.compactMap { kind in
            switch kind {
            case .password: .init("WWW-Authenticate", "Basic realm=\"notify\", charset=\"UTF-8\"")
            case .bearer: .init("WWW-Authenticate", "Bearer")
            // A certificate is presented in the TLS handshake, so no HTTP scheme asks for one.
            case .certificate: nil
            }
        }
    }
}

extension RejectionCode {
    /// The HTTP status. The only mapping from codes to statuses.
    var status: Int {
        switch self {
        case .malformedRequest, .malformedMessage, .unknownPlatform, .handleUnusable: 400
        case .credentialsMissing, .credentialsRejected: 401
        case .identityUnmapped, .insecureTransport, .notOwner, .sendNotAllowed, .tagNotAllowed: 403
        case .noRoute, .unknownNotification: 404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .idempotencyInProgress: 409
        case .payloadTooLarge: 413
        case .uriTooLong: 414
        case .unsupportedMediaType: 415
        case .expectationFailed: 417
        case .idempotencyMismatch: 422
        case .rateLimited, .registrationLimit: 429
        case .headersTooLarge: 431
        case .internalError: 500
        case .backendFailed, .backendUnreachable: 502
        case .authenticatorUnavailable, .journalUnavailable, .ledgerUnavailable, .textsUnavailable, .overloaded,
            .draining:
            503
        case .backendTimedOut: 504
        case .textsFull: 507
        }
    }

    /// The title of the problem document: one sentence for a person.
    var title: String {
        switch self {
        case .malformedRequest: "The request is malformed."
        case .malformedMessage: "The message cannot be delivered as it is."
        case .unknownPlatform: "The platform is not supported."
        case .handleUnusable: "The device handle cannot be used."
        case .credentialsMissing: "Credentials are required."
        case .credentialsRejected: "The credentials were not accepted."
        case .identityUnmapped: "The user name is not supported."
        case .insecureTransport: "Credentials are not accepted over this connection."
        case .notOwner: "The registration is not yours."
        case .sendNotAllowed: "You may not notify this recipient."
        case .tagNotAllowed: "You may not register this tag."
        case .unknownNotification: "There is no such notification."
        case .noRoute: "The path does not exist."
        case .methodNotAllowed: "The path does not support this method."
        case .requestTimeout: "The request was not complete in time."
        case .idempotencyInProgress: "A call with this idempotency key is in progress."
        case .payloadTooLarge: "The request is too large."
        case .uriTooLong: "The request line is too long."
        case .unsupportedMediaType: "The media type is not supported."
        case .expectationFailed: "The expectation cannot be met."
        case .idempotencyMismatch: "The idempotency key was used for another message."
        case .rateLimited: "Too many calls."
        case .registrationLimit: "The device changed its owner too often."
        case .headersTooLarge: "The header is too large."
        case .internalError: "The gateway had an internal error."
        case .backendFailed: "The backend failed."
        case .backendUnreachable: "The backend cannot be reached."
        case .authenticatorUnavailable: "Credentials cannot be verified now."
        case .journalUnavailable: "Calls cannot be recorded now."
        case .ledgerUnavailable: "Registrations and sessions cannot be changed now."
        case .textsUnavailable: "Secure notifications cannot be stored or read now."
        case .textsFull: "There is no room for the secure notification."
        case .overloaded: "The gateway is overloaded."
        case .draining: "The gateway is stopping."
        case .backendTimedOut: "The backend did not respond in time."
        }
    }
}
