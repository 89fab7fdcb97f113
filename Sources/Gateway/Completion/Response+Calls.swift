internal import GatewayCore
internal import GatewaySupport

// The responses that unmodified clients accept as success (docs/contract.md: clients).

extension Response {
    /// Returns a response without a body, the success of every call except a create.
    static func empty(_ status: Int) -> Response { Response(status: status) }

    /// Returns the response with exactly `"<id>"`: clients remove the first and the last character of the body.
    static func registrationID(_ id: RegistrationID) -> Response {
        Response(status: 200, contentType: "application/json", body: Array("\"\(id.text)\"".utf8))
    }

    /// Returns the response with the counts of an audience; an error if no member was reached.
    ///
    /// - Parameters:
    ///   - failure: The first failure; nil if all members were skipped, or if the detail for the log is not needed.
    ///   - challenges: The fields of a response to a caller who was revoked before the message reached a member.
    static func audience(
        _ counts: AudienceCounts, _ failure: ForwardResult? = nil, challenges: [Response.Field] = []
    ) -> Response {
        guard counts.accepted > 0 else {
            let code = failure?.result == .revoked ? RejectionCode.credentialsRejected : .backendFailed
            return ProblemDocument.response(
                Rejection(
                    code, failure?.detail ?? "all members were skipped",
                    hint: "The message reached no member of the audience.", extra: .audience(counts.members)),
                challenges: challenges)
        }
        return Response(
            status: 200, contentType: "application/json", fields: [.noStore],
            body: JSONWriter.bytes(of: .object(counts.members)))
    }
}

extension Response.Field {
    /// Forbids caches to store the response.
    static let noStore = Response.Field("Cache-Control", "no-store")
}

extension ForwardResult {
    /// Returns the additional content of the error response for the call's result: when to retry.
    func extra(for result: CallResult) -> Rejection.Extra? {
        if result == .overloaded, let retryAfter { return .retryAfter(seconds: retryAfter) }
        return result.extra
    }
}

extension CallResult {
    /// The code of the error response to the client; nil if the call was carried out.
    var rejection: RejectionCode? {
        switch self {
        case .accepted, .adopted, .healed, .neutralised: nil
        case .backendFailed, .deleteUnconfirmed: .backendFailed
        case .backendUnreachable: .backendUnreachable
        case .backendTimedOut: .backendTimedOut
        case .overloaded: .overloaded
        // A client that registers again finds what the backend did.
        case .ledgerUnavailable, .ledgerFailed: .ledgerUnavailable
        case .textsUnavailable: .textsUnavailable
        case .notIssued: .internalError
        case .revoked: .credentialsRejected
        case .unknownAtStop, .unknownAfterCrash: .backendFailed
        }
    }

    /// The additional content of the error response: when to retry.
    var extra: Rejection.Extra? {
        switch self {
        case .overloaded, .ledgerUnavailable, .ledgerFailed, .textsUnavailable: .retryAfter(seconds: 1)
        case .accepted, .adopted, .healed, .neutralised, .deleteUnconfirmed, .backendFailed, .backendUnreachable,
            .backendTimedOut, .notIssued, .revoked, .unknownAtStop, .unknownAfterCrash:
            nil
        }
    }
}
