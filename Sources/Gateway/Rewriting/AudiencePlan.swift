internal import GatewayCore

/// The recipients of a send to an audience, one step for each, and the skipped members.
struct AudiencePlan: Sendable {
    /// The recipients, in the order of the plan's steps.
    let members: [UserName]
    let skipped: [SkippedMember]

    init(_ admitted: AdmittedMembers) {
        members = admitted.reached
        skipped = admitted.skipped
    }

    /// Returns the records to write before the first step: an intent for each send, and a rejection for each
    /// skipped member.
    func records(_ facts: CallFacts) -> [JournalRecord] {
        members.map { JournalRecord(.intent, facts: facts.with(recipient: $0)) }
            + skipped.map { member in
                var facts = facts.with(recipient: member.user)
                facts.limit = member.limit
                return JournalRecord(.rejection, facts: facts, result: RejectionCode.rateLimited.rawValue)
            }
    }
}
