internal import GatewayCore

/// What became of a send that may be presented again.
enum SendEnd {
    /// It surely did not leave: it may be made anew.
    case notSent
    /// It may have left.
    case unknown
    /// The backend answered, and the sender was told so.
    case answered(Answer, CallResult)

    /// The end of a send to one user.
    init(_ result: CallResult, _ answer: Answer) {
        switch result {
        case .backendUnreachable, .overloaded: self = .notSent
        case .backendTimedOut, .unknownAtStop, .unknownAfterCrash: self = .unknown
        case .accepted, .adopted, .healed, .neutralised, .deleteUnconfirmed, .ledgerUnavailable, .backendFailed,
            .ledgerFailed, .notIssued, .revoked:
            self = .answered(answer, result)
        }
    }

    /// The end of a send to an audience: of no end where any of it may have left unseen, and made anew where nothing left.
    init(_ results: [CallResult], _ answer: Answer) {
        let ends = results.map { SendEnd($0, answer) }
        if results.contains(.accepted) {
            self = .answered(answer, .accepted)
        } else if ends.contains(where: \.isUnknown) {
            self = .unknown
        } else if ends.allSatisfy(\.isNotSent) {
            self = .notSent
        } else {
            self = .answered(answer, .backendFailed)
        }
    }

    /// The end of a send as the journal has it.
    init(_ send: KeyedSend) {
        let isAudience = AudienceName.named(in: send.target) != nil
        guard send.results.count >= send.intents, let result = send.results.first else {
            // An end that was not written down.
            self = .unknown
            return
        }
        if isAudience {
            let accepted = send.results.count { $0 == .accepted }
            let counts = AudienceCounts(
                accepted: accepted, skipped: send.skipped, failed: send.results.count - accepted)
            self.init(send.results, .audience(counts, detail: nil))
        } else {
            self.init(result, result.refusal.map { ProblemDocument.answer(Refusal($0, "")) } ?? .empty(200))
        }
    }

    private var isUnknown: Bool { if case .unknown = self { true } else { false } }
    private var isNotSent: Bool { if case .notSent = self { true } else { false } }
}
