internal import GatewayCore
internal import Logging

/// What becomes of a refusal: it is recorded, with others like it, where the caller
/// is known or a login failed, logged, and answered.
struct Refusing: Sendable {
    let challenges: [Answer.Field]
    let recording: RefusalRecording
    let logins: LoginRecording
    let log: RefusalLog
    let logger: Logger

    // Made once: when it is answered most, there is least to spare.
    private static let noRoom = ProblemDocument.answer(Refusal(.overloaded, "", extra: .retryAfter(seconds: 1)))

    @inline(never)
    func answer(_ refusal: Refusal, of call: CallID) -> Answer {
        if let facts = refusal.facts, facts.user != nil { recording.note(refusal, facts) }
        if !logins.note(refusal, logger) { log.note(refusal, of: call, logger) }
        if refusal.code == .overloaded, refusal.hint == nil, case .retryAfter(1) = refusal.extra { return Self.noRoom }
        return ProblemDocument.answer(refusal, challenges: challenges)
    }

    /// Writes down what was merged and is due; everything where there will be no later.
    func settle(all: Bool) {
        recording.settle(all: all)
        logins.settle(all: all, logger)
        log.settle(all: all, logger)
    }
}
