internal import GatewayCore

extension RejectionCode {
    /// The HTTP status. The only mapping from codes to statuses.
    var status: Int {
        switch self {
        case .malformedRequest, .malformedMessage, .unknownPlatform, .handleUnusable: 400
        case .credentialsMissing, .credentialsRejected: 401
        case .identityUnmapped, .insecureTransport, .notOwner, .sendNotAllowed, .tagNotAllowed: 403
        case .noRoute: 404
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
        case .authenticatorUnavailable, .journalUnavailable, .ledgerUnavailable, .overloaded, .draining: 503
        case .backendTimedOut: 504
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
        case .overloaded: "The gateway is overloaded."
        case .draining: "The gateway is stopping."
        case .backendTimedOut: "The backend did not respond in time."
        }
    }
}
