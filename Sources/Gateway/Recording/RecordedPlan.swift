internal import GatewayCore

/// A plan whose intents are on disk: the only thing that can be forwarded. Only recording makes one.
struct RecordedPlan: ~Copyable {
    let plan: UpstreamPlan

    fileprivate init(_ plan: consuming UpstreamPlan) { self.plan = plan }
}

/// The sixth phase: what is about to be asked of the backend is written down first, durably. Waits for the disk.
struct Recording: Sendable {
    let journal: any Journal

    func record(_ plan: consuming UpstreamPlan) async throws(Refusal) -> RecordedPlan {
        do throws(JournalUnavailable) {
            try await journal.record([JournalRecord(.intent, facts: plan.facts)])
        } catch {
            throw Refusal(
                .journalUnavailable, "journal: \(error.detail)", extra: .retryAfter(seconds: 5)
            ).with(plan.facts)
        }
        return RecordedPlan(plan)
    }
}
