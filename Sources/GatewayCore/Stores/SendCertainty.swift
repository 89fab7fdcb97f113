extension CallResult {
    /// The proof that the result of a send to one user gives.
    package enum SendCertainty {
        /// The send certainly did not reach the backend.
        case notSent
        /// The send may have reached the backend.
        case unknown
        /// The backend has responded to the send, or the gateway has decided it.
        case completed
    }

    /// The proof that the result gives if the call is a send to one user.
    package var certainty: SendCertainty {
        switch self {
        // For a send, `revoked` and `ledgerUnavailable` mean that the gateway made no request (see `CallerWithdrawal`).
        case .backendUnreachable, .overloaded, .textsUnavailable, .ledgerUnavailable, .revoked: .notSent
        case .backendTimedOut, .unknownAtStop, .unknownAfterCrash: .unknown
        case .accepted, .adopted, .healed, .neutralised, .deleteUnconfirmed, .backendFailed, .ledgerFailed, .notIssued:
            .completed
        }
    }
}

extension IdempotentSend {
    /// Whether the backend certainly carried out no part of the send, so that its key is free.
    package var isUnsent: Bool { results.count == intents && results.allSatisfy { $0.certainty == .notSent } }
}
