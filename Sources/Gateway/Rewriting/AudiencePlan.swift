internal import GatewayCore

/// The recipients of a send to an audience, one step for each, and the skipped members.
struct AudiencePlan: Sendable {
    /// The recipients, in the order of the plan's steps.
    let members: [UserName]
    let skipped: [SkippedMember]
    /// The ids of a secure send, one for each member; empty for any other send.
    let ids: [SecureID]

    init(_ admitted: AudienceAdmission, ids: [SecureID] = []) {
        self.ids = ids
        members = admitted.reached
        skipped = admitted.skipped
    }

    /// Returns the records to write before the first step: an intent for each send, and a rejection for each
    /// skipped member.
    func records(_ facts: CallFacts) -> [JournalRecord] {
        members.indices.map { JournalRecord(.intent, facts: self.facts(ofMember: $0, facts)) }
            + skipped.map { member in
                var facts = facts.with(recipient: member.user)
                facts.limit = member.limit
                return JournalRecord(.rejection, facts: facts, result: RejectionCode.rateLimited.rawValue)
            }
    }

    /// Returns the facts of the send to the member at an index.
    func facts(ofMember index: Int, _ facts: CallFacts) -> CallFacts {
        var facts = facts
        facts.recipient = members[index]
        if !ids.isEmpty { facts.secureID = ids[index] }
        return facts
    }
}
