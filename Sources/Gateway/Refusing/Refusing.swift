internal import GatewayCore
internal import Logging

/// The handling of a rejection: records it if the caller is known or a login failed, logs it, and creates the response.
struct Refusing: Sendable {
    let challenges: [Answer.Field]
    let recording: RefusalRecording
    let logins: LoginRecording
    let log: RefusalLog
    let logger: Logger

    // Built once, because it is needed most often under overload.
    private static let noRoom = ProblemDocument.answer(Refusal(.overloaded, "", extra: .retryAfter(seconds: 1)))

    @inline(never)
    func answer(_ refusal: Refusal, of call: CallID) -> Answer {
        if let facts = refusal.facts, facts.user != nil { recording.note(refusal, facts) }
        if !logins.note(refusal, logger) { log.note(refusal, of: call, logger) }
        if refusal.code == .overloaded, refusal.hint == nil, case .retryAfter(1) = refusal.extra { return Self.noRoom }
        return ProblemDocument.answer(refusal, challenges: challenges)
    }

    /// Writes the coalesced records and lines that are due; all of them if this is the last call.
    func settle(all: Bool) {
        recording.settle(all: all)
        logins.settle(all: all, logger)
        log.settle(all: all, logger)
    }
}
