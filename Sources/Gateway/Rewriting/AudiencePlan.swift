internal import GatewayCore

/// Whom a send to an audience goes to, one step a member, and whom it skips.
struct AudiencePlan: Sendable {
    /// Those whom the plan's steps send to, in the same order.
    let members: [UserName]
    let skipped: [SkippedMember]

    init(_ admitted: AdmittedMembers) {
        members = admitted.reached
        skipped = admitted.skipped
    }

    /// What is written down before the first step: an intent for each send, and for each member that is skipped why.
    func records(_ facts: CallFacts) -> [JournalRecord] {
        members.map { JournalRecord(.intent, facts: facts.with(recipient: $0)) }
            + skipped.map { member in
                var facts = facts.with(recipient: member.user)
                facts.limit = member.limit
                return JournalRecord(.refusal, facts: facts, result: RefusalCode.rateLimited.rawValue)
            }
    }
}
