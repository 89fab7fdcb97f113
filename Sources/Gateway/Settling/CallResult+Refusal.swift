internal import GatewayCore

extension CallResult {
    /// The code that the client is answered with, or nil where the call was carried out.
    var refusal: RefusalCode? {
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

    /// What the answer says beside the code.
    var extra: Refusal.Extra? {
        switch self {
        case .overloaded, .ledgerUnavailable: .retryAfter(seconds: 1)
        case .accepted, .adopted, .healed, .neutralised, .deleteUnconfirmed, .backendFailed, .backendUnreachable,
            .backendTimedOut, .ledgerFailed, .notIssued, .revoked, .unknownAtStop, .unknownAfterCrash:
            nil
        }
    }
}
