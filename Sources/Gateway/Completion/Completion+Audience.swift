internal import GatewayCore
internal import GatewaySupport
internal import Logging

extension Completion {
    /// Records the outcome for each member and returns the response. A send that reached any member is a success.
    func complete(_ audience: AudiencePlan, _ results: [MemberResult], _ facts: CallFacts) -> Response {
        var counts = AudienceCounts(skipped: audience.skipped.count)
        var failure: ForwardResult?
        for (index, sent) in results.enumerated() {
            journal.append(
                JournalRecord(
                    .outcome, facts: audience.facts(ofMember: index, facts), result: sent.outcome.result.rawValue,
                    status: sent.outcome.status, milliseconds: sent.milliseconds,
                    notification: sent.outcome.notification))
            if sent.outcome.result == .accepted {
                counts.accepted += 1
            } else {
                counts.failed += 1
                failure = failure ?? sent.outcome
            }
        }
        if let failure {
            logger.warning(
                "Sends to an audience failed",
                metadata: [
                    "call": "\(facts.call)", "failed": "\(counts.failed)", "first": "\(failure.result.rawValue)",
                    "detail": "\(failure.detail)",
                ])
        }
        return .audience(counts, failure, challenges: challenges)
    }
}

extension CallFacts {
    /// Returns the facts of the send to one member of an audience.
    func with(recipient: UserName) -> CallFacts {
        var facts = self
        facts.recipient = recipient
        return facts
    }
}
