public import GatewayCore

/// The predicted result of a call, with the reasons.
public struct Explanation: Sendable {
    /// The final decision of the gateway.
    public enum Outcome: Sendable {
        /// The call would be rejected with this status.
        case refused(Rejection, status: Int)
        /// The gateway would respond itself, without the backend.
        case answeredHere
        /// The call would be recorded, and these requests would be sent to the backend. These members of an audience
        /// would be skipped.
        case forwarded([ExplainedRequest], skipped: [Skipped])
    }

    /// A member of an audience that a send would skip.
    public struct Skipped: Sendable, Hashable {
        /// The member.
        public var user: UserName
        /// The limit that the member has exhausted.
        public var limit: String
    }

    /// The parsed call; nil if it could not be parsed.
    public var call: ExplainedCall?
    /// The operation, named as in the journal; nil if no route matched.
    public var action: Action?
    /// The policy decision, named as in the journal.
    public var rule: String?
    /// The backend's id of the registration concerned.
    public var registration: RegistrationID?
    /// The current state of the limits that count the call. A call that is rejected before the limit phase is charged
    /// only to limits that count every call.
    public var limits: [LimitStatus] = []
    /// The final decision.
    public var end = Outcome.answeredHere
}
