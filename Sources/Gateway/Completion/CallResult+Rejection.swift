internal import GatewayCore

extension CallResult {
    /// The code of the error response to the client; nil if the call was carried out.
    var rejection: RejectionCode? {
        switch self {
        case .accepted, .adopted, .healed, .neutralised: nil
        case .backendFailed, .deleteUnconfirmed: .backendFailed
        case .backendUnreachable: .backendUnreachable
        case .backendTimedOut: .backendTimedOut
        case .overloaded: .overloaded
        case .ledgerUnavailable: .ledgerUnavailable
        case .ledgerFailed, .notIssued: .internalError
        case .revoked: .credentialsRejected
        case .unknownAtStop, .unknownAfterCrash: .backendFailed
        }
    }

    /// The additional content of the error response: when to retry.
    var extra: Rejection.Extra? {
        switch self {
        case .overloaded, .ledgerUnavailable: .retryAfter(seconds: 1)
        case .accepted, .adopted, .healed, .neutralised, .deleteUnconfirmed, .backendFailed, .backendUnreachable,
            .backendTimedOut, .ledgerFailed, .notIssued, .revoked, .unknownAtStop, .unknownAfterCrash:
            nil
        }
    }
}
