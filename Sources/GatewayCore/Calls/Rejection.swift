public import GatewaySupport

/// The error of the request pipeline: a call that is rejected, and the reason.
///
/// The code is mapped to a status and a problem document, to a metric label, and to the journal's word, each in one
/// place.
public struct Rejection: Error, Sendable {
    /// The reason, from a closed list.
    public var code: RejectionCode
    /// The detail for the log and the operator. Never sent to the client.
    public var detail: String
    /// A constant sentence that tells the client how to correct the request. It contains no byte of the request and
    /// nothing internal.
    public var hint: String?
    /// Additional content of the response.
    public var extra: Extra?
    /// The facts of the call at the time of the rejection, set by the request pipeline. The rejection is recorded if
    /// they contain a user.
    public var facts: CallFacts?

    /// Additional content of some responses.
    public enum Extra: Sendable, Hashable {
        /// `Allow` (RFC 9110, section 10.2.1): the methods of the path.
        case allow([HTTPMethod])
        /// `Retry-After` in seconds, at least 1 (RFC 9110, section 10.2.3).
        case retryAfter(seconds: Int)
        /// The name of the exhausted limit, and `Retry-After` in seconds.
        case limit(name: String, retryAfterSeconds: Int)
        /// Additional members of the problem document: how many members of an audience were reached, skipped and
        /// failed.
        case audience([JSONValue.Member])
    }

    /// The side at fault.
    public var side: RejectionCode.Side { code.side }

    /// Creates a rejection. The pipeline adds `facts` later.
    public init(_ code: RejectionCode, _ detail: String, hint: String? = nil, extra: Extra? = nil) {
        self.code = code
        self.detail = detail
        self.hint = hint
        self.extra = extra
    }
}

extension Rejection {
    /// Returns the rejection with these facts, unless it has facts already.
    package func with(_ facts: CallFacts) -> Rejection {
        var rejection = self
        rejection.facts = self.facts ?? facts
        return rejection
    }
}

/// The closed list of reasons why a call is rejected. The raw values appear in responses, metrics and the journal.
public enum RejectionCode: String, Sendable, Hashable, CaseIterable {
    /// The request line, a parameter or the body is invalid.
    case malformedRequest = "malformed-request"
    /// The message is not valid text, or the payload cannot represent it.
    case malformedMessage = "malformed-message"
    /// The backend does not support this `Platform` or `pns`.
    case unknownPlatform = "unknown-platform"
    /// No push service would accept the device handle.
    case handleUnusable = "handle-unusable"
    /// No credential was presented.
    case credentialsMissing = "credentials-missing"
    /// The credential is invalid. The response never says why.
    case credentialsRejected = "credentials-rejected"
    /// The credential is valid, but its name has no canonical form.
    case identityUnmapped = "identity-unmapped"
    /// A credential was sent over a connection that others can read.
    case insecureTransport = "insecure-transport"
    /// The registration does not exist or belongs to another user.
    case notOwner = "not-owner"
    /// The policy does not allow this sender to notify this recipient.
    case sendNotAllowed = "send-not-allowed"
    /// The policy does not allow this user to register this tag.
    case tagNotAllowed = "tag-not-allowed"
    /// The caller has no secure notification with this id, or it has expired.
    case unknownNotification = "unknown-notification"
    /// The path is unknown.
    case noRoute = "no-route"
    /// The path is known, but not with this method.
    case methodNotAllowed = "method-not-allowed"
    /// The request was not complete in time.
    case requestTimeout = "request-timeout"
    /// A call with the same idempotency key is in progress.
    case idempotencyInProgress = "idempotency-in-progress"
    /// The body, or the resulting payload, is too long.
    case payloadTooLarge = "payload-too-large"
    /// The request line is too long.
    case uriTooLong = "uri-too-long"
    /// The call does not accept this media type, charset or content coding.
    case unsupportedMediaType = "unsupported-media-type"
    /// An `Expect` other than `100-continue`.
    case expectationFailed = "expectation-failed"
    /// The idempotency key was used for another message.
    case idempotencyMismatch = "idempotency-mismatch"
    /// A limit is exhausted.
    case rateLimited = "rate-limited"
    /// The device was handed over too often.
    case registrationLimit = "registration-limit"
    /// The header block is too long.
    case headersTooLarge = "headers-too-large"
    /// An internal error of the gateway.
    case internalError = "internal-error"
    /// The backend responded with an error, or closed the connection early.
    case backendFailed = "backend-failed"
    /// No connection to the backend could be opened.
    case backendUnreachable = "backend-unreachable"
    /// An authenticator cannot verify credentials now.
    case authenticatorUnavailable = "authenticator-unavailable"
    /// The journal cannot be written, so the call is not carried out.
    case journalUnavailable = "journal-unavailable"
    /// The ledger cannot be read or written. Nothing has changed, and no request was sent to the backend.
    case ledgerUnavailable = "ledger-unavailable"
    /// The texts of secure notifications cannot be read or written. Nothing was sent.
    case textsUnavailable = "texts-unavailable"
    /// There is no room for the text of a secure notification. Nothing was sent.
    case textsFull = "texts-full"
    /// Too many calls, or no calls for a moment because the backend is unreachable.
    case overloaded
    /// The gateway is stopping.
    case draining
    /// The backend did not respond in time.
    case backendTimedOut = "backend-timed-out"

    /// The side at fault.
    public enum Side: String, Sendable, Hashable {
        /// The caller: a different request would have been carried out.
        case caller
        /// The gateway: the same request may succeed later.
        case gateway
        /// The backend.
        case backend
    }

    /// The side at fault.
    public var side: Side {
        switch self {
        case .internalError, .authenticatorUnavailable, .journalUnavailable, .ledgerUnavailable, .textsUnavailable,
            .textsFull, .overloaded, .draining:
            .gateway
        case .backendFailed, .backendUnreachable, .backendTimedOut: .backend
        case .malformedRequest, .malformedMessage, .unknownPlatform, .handleUnusable, .credentialsMissing,
            .credentialsRejected, .identityUnmapped, .insecureTransport, .notOwner, .sendNotAllowed, .tagNotAllowed,
            .unknownNotification, .noRoute, .methodNotAllowed, .requestTimeout, .idempotencyInProgress,
            .payloadTooLarge, .uriTooLong,
            .unsupportedMediaType, .expectationFailed, .idempotencyMismatch, .rateLimited, .registrationLimit,
            .headersTooLarge:
            .caller
        }
    }
}
