internal import GatewayCore
internal import Logging

/// The handling of a rejection: records it if the caller is known or a login failed, logs it, and creates the response.
struct RejectionResponder: Sendable {
    let challenges: [Response.Field]
    let recording: RejectionRecorder
    let logins: FailedLoginRecorder
    let log: RejectionLog
    let logger: Logger

    // Built once, because it is needed most often under overload.
    private static let noRoom = ProblemDocument.response(Rejection(.overloaded, "", extra: .retryAfter(seconds: 1)))

    @inline(never)
    func response(_ rejection: Rejection, of call: CallID) -> Response {
        if let facts = rejection.facts, facts.user != nil { recording.note(rejection, facts) }
        if !logins.note(rejection, logger) { log.note(rejection, of: call, logger) }
        if rejection.code == .overloaded, rejection.hint == nil, case .retryAfter(1) = rejection.extra {
            return Self.noRoom
        }
        return ProblemDocument.response(rejection, challenges: challenges)
    }

    /// Writes the coalesced records and lines that are due; all of them if this is the last call.
    func flush(all: Bool) {
        recording.flush(all: all)
        logins.flush(all: all, logger)
        log.flush(all: all, logger)
    }
}
