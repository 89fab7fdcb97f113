public import GatewayCore

/// What would become of a call, and why.
public struct Explanation: Sendable {
    /// How it would end, as far as the gateway decides that.
    public enum End: Sendable {
        /// It would be refused, and answered with this status.
        case refused(Refusal, status: Int)
        /// The gateway would answer it without the backend.
        case answeredHere
        /// The backend would be asked this, once it is recorded; these members of an audience would be spared.
        case forwarded([ExplainedRequest], skipped: [Skipped])
    }

    /// A member of an audience that a send would skip.
    public struct Skipped: Sendable, Hashable {
        /// Who.
        public var user: UserName
        /// The limit that the member has spent.
        public var limit: String
    }

    /// The call as it was understood; nil where it was not.
    public var call: ExplainedCall?
    /// What it does, in the journal's word; nil where no route was found.
    public var action: Action?
    /// What of the policy decided, in the journal's word.
    public var rule: String?
    /// The registration that it would touch, by the backend's id.
    public var registration: RegistrationID?
    /// The limits that count the call, as they stand now. A call that is refused before it comes to them pays only those that
    /// count by user alone.
    public var limits: [LimitStanding] = []
    /// How it would end.
    public var end = End.answeredHere
}
