internal import GatewayCore
internal import Logging

/// What becomes of a refusal: it is recorded, with others like it, where the caller is known, logged, and answered.
struct Refusing: Sendable {
    let challenges: [Answer.Field]
    let recording: RefusalRecording
    let overload: OverloadLog
    let logger: Logger

    // Made once: when it is answered most, there is least to spare.
    private static let noRoom = ProblemDocument.answer(Refusal(.overloaded, "", extra: .retryAfter(seconds: 1)))

    @inline(never)
    func answer(_ refusal: Refusal, of call: CallID) -> Answer {
        if let facts = refusal.facts, facts.user != nil { recording.note(refusal, facts) }
        log(refusal, of: call)
        if refusal.code == .overloaded, refusal.hint == nil, case .retryAfter(1) = refusal.extra { return Self.noRoom }
        return ProblemDocument.answer(refusal, challenges: challenges)
    }

    /// Writes down what was merged and is due; everything where there will be no later.
    func settle(all: Bool) {
        recording.settle(all: all)
        overload.settle(logger)
    }

    private func log(_ refusal: Refusal, of call: CallID) {
        if refusal.code == .overloaded, !overload.isFirst() { return }
        // A caller's fault is everyday; the gateway's own is what somebody must see.
        logger.log(
            level: refusal.side == .caller ? .info : .warning, "A call was refused",
            metadata: [
                "call": "\(call)",
                "code": "\(refusal.code.rawValue)",
                "detail": "\(refusal.detail)",
                "peer": "\(refusal.facts.map(\.peer.text) ?? "-")",
                "user": "\(refusal.facts.flatMap(\.user).map(\.text) ?? "-")",
                // Where a peer began the trace it has another id than the call.
                "trace": "\(refusal.facts?.trace?.id ?? call.text)",
            ])
    }
}
