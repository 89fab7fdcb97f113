internal import GatewayCore
internal import GatewaySupport

/// The result of a send, which decides how later requests with the same key are handled.
enum IdempotentResult {
    /// The send certainly did not reach the backend; it may be sent again.
    case notSent
    /// The send may have reached the backend.
    case unknown
    /// The result is certain, and the client got this response.
    case completed(Response, CallResult)

    /// Creates the result of a send to one user.
    init(_ result: CallResult, _ response: Response) {
        switch result.certainty {
        case .notSent: self = .notSent
        case .unknown: self = .unknown
        case .completed: self = .completed(response, result)
        }
    }

    /// Creates the result of a send to an audience, in this order: `completed` if any member's send was accepted,
    /// `unknown` if any result is unknown, `notSent` if no send reached the backend, and otherwise `completed`.
    init(_ results: [CallResult], _ response: Response) {
        let outcomes = results.map { IdempotentResult($0, response) }
        if results.contains(.accepted) {
            self = .completed(response, .accepted)
        } else if outcomes.contains(where: \.isUnknown) {
            self = .unknown
        } else if outcomes.allSatisfy(\.isNotSent) {
            self = .notSent
        } else {
            self = .completed(response, .backendFailed)
        }
    }

    /// Creates the result of a send read from the journal.
    init(_ send: IdempotentSend) {
        let isAudience = AudienceName.named(in: send.target) != nil
        guard send.results.count >= send.intents, let result = send.results.first else {
            // The outcome of at least one send was not recorded.
            self = .unknown
            return
        }
        if isAudience {
            let accepted = send.results.count { $0 == .accepted }
            let counts = AudienceCounts(
                accepted: accepted, skipped: send.skipped, failed: send.results.count - accepted)
            self.init(send.results, .audience(counts))
        } else {
            self.init(result, result.rejection.map { ProblemDocument.response(Rejection($0, "")) } ?? .empty(200))
        }
    }

    private var isUnknown: Bool { if case .unknown = self { true } else { false } }
    private var isNotSent: Bool { if case .notSent = self { true } else { false } }
}
