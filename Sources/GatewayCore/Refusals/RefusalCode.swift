/// Why a call was not carried out: the closed list of codes that clients, metrics and journal know.
public enum RefusalCode: String, Sendable, Hashable, CaseIterable {
    /// The request line, a parameter or the body is not what the call takes.
    case malformedRequest = "malformed-request"
    /// No text can be made of the message, or its payload cannot carry it.
    case malformedMessage = "malformed-message"
    /// A `Platform` or `pns` that the backend does not have.
    case unknownPlatform = "unknown-platform"
    /// A device handle that no push service would take.
    case handleUnusable = "handle-unusable"
    /// No credential was presented.
    case credentialsMissing = "credentials-missing"
    /// The credential is not good. Never says why.
    case credentialsRejected = "credentials-rejected"
    /// The credential is good, but its name has no canonical form.
    case identityUnmapped = "identity-unmapped"
    /// A credential came over a connection that others can read.
    case insecureTransport = "insecure-transport"
    /// The registration is not the caller's, or there is none.
    case notOwner = "not-owner"
    /// Policy does not let this sender notify this recipient.
    case sendNotAllowed = "send-not-allowed"
    /// Policy does not let this user register this tag.
    case tagNotAllowed = "tag-not-allowed"
    /// The path is none of the gateway's.
    case noRoute = "no-route"
    /// The path is known, with another method.
    case methodNotAllowed = "method-not-allowed"
    /// The request was not complete in time.
    case requestTimeout = "request-timeout"
    /// A call with the same idempotency key is under way.
    case idempotencyInProgress = "idempotency-in-progress"
    /// The body, or the payload that would come of it, is too long.
    case payloadTooLarge = "payload-too-large"
    /// The request line is too long.
    case uriTooLong = "uri-too-long"
    /// A media type, charset or content coding that the call does not take.
    case unsupportedMediaType = "unsupported-media-type"
    /// An `Expect` other than `100-continue`.
    case expectationFailed = "expectation-failed"
    /// The idempotency key was used for another message.
    case idempotencyMismatch = "idempotency-mismatch"
    /// A limit is spent.
    case rateLimited = "rate-limited"
    /// Too many hand-overs of one device.
    case registrationLimit = "registration-limit"
    /// The header block is too long.
    case headersTooLarge = "headers-too-large"
    /// A fault of the gateway.
    case internalError = "internal-error"
    /// The backend answered with a failure, or broke off.
    case backendFailed = "backend-failed"
    /// No connection to the backend could be made.
    case backendUnreachable = "backend-unreachable"
    /// An authenticator cannot tell at present.
    case authenticatorUnavailable = "authenticator-unavailable"
    /// The call cannot be recorded, and so is not carried out.
    case journalUnavailable = "journal-unavailable"
    /// Registrations, sessions or tokens cannot be looked up or changed: nothing was done, and the backend was not asked.
    case ledgerUnavailable = "ledger-unavailable"
    /// More calls than can be served, or none at all for a moment because the backend is out of reach.
    case overloaded
    /// The gateway is stopping.
    case draining
    /// The backend did not answer in time.
    case backendTimedOut = "backend-timed-out"

    /// Whose fault it is.
    public enum Side: String, Sendable, Hashable {
        /// The caller's: another request would have been carried out.
        case caller
        /// The gateway's: the same request may be carried out later.
        case gateway
        /// The backend's.
        case backend
    }

    /// Whose fault it is.
    public var side: Side {
        switch self {
        case .internalError, .authenticatorUnavailable, .journalUnavailable, .ledgerUnavailable, .overloaded, .draining:
            .gateway
        case .backendFailed, .backendUnreachable, .backendTimedOut: .backend
        case .malformedRequest, .malformedMessage, .unknownPlatform, .handleUnusable, .credentialsMissing,
            .credentialsRejected, .identityUnmapped, .insecureTransport, .notOwner, .sendNotAllowed, .tagNotAllowed,
            .noRoute, .methodNotAllowed, .requestTimeout, .idempotencyInProgress, .payloadTooLarge, .uriTooLong,
            .unsupportedMediaType, .expectationFailed, .idempotencyMismatch, .rateLimited, .registrationLimit,
            .headersTooLarge:
            .caller
        }
    }
}
