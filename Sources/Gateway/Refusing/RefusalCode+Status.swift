internal import GatewayCore

extension RefusalCode {
    /// The status code, the one place that turns one into the other.
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

    /// One line for a person.
    var title: String {
        switch self {
        case .malformedRequest: "The request is malformed."
        case .malformedMessage: "The message cannot be delivered as it is."
        case .unknownPlatform: "The platform is not known here."
        case .handleUnusable: "The device handle cannot be used."
        case .credentialsMissing: "Credentials are needed."
        case .credentialsRejected: "The credentials were not accepted."
        case .identityUnmapped: "The user's name cannot be used here."
        case .insecureTransport: "Credentials are not taken over this connection."
        case .notOwner: "The registration is not yours."
        case .sendNotAllowed: "You may not notify this recipient."
        case .tagNotAllowed: "You may not register this tag."
        case .noRoute: "There is nothing here."
        case .methodNotAllowed: "The method is not possible here."
        case .requestTimeout: "The request was not complete in time."
        case .idempotencyInProgress: "A call with this idempotency key is under way."
        case .payloadTooLarge: "The request is too large."
        case .uriTooLong: "The request line is too long."
        case .unsupportedMediaType: "The media type is not taken here."
        case .expectationFailed: "The expectation cannot be met."
        case .idempotencyMismatch: "The idempotency key belongs to another message."
        case .rateLimited: "Too many calls."
        case .registrationLimit: "The device changed hands too often."
        case .headersTooLarge: "The header is too large."
        case .internalError: "The gateway failed."
        case .backendFailed: "The backend failed."
        case .backendUnreachable: "The backend cannot be reached."
        case .authenticatorUnavailable: "Credentials cannot be judged at present."
        case .journalUnavailable: "Calls cannot be recorded at present."
        case .ledgerUnavailable: "Registrations and sessions cannot be changed at present."
        case .overloaded: "No more calls can be served at present."
        case .draining: "The gateway is stopping."
        case .backendTimedOut: "The backend did not answer in time."
        }
    }
}
