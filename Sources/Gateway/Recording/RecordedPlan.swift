internal import GatewayCore

/// A plan whose intents are on disk: the only thing that can be forwarded. Only recording makes one.
struct RecordedPlan: ~Copyable {
    let plan: UpstreamPlan

    fileprivate init(_ plan: consuming UpstreamPlan) { self.plan = plan }
}

/// What the gateway does itself, on disk where it changes anything. Only recording makes one.
struct RecordedOwnPlan: ~Copyable {
    let plan: OwnPlan

    fileprivate init(_ plan: consuming OwnPlan) { self.plan = plan }
}

/// The sixth phase: what is about to be asked of the backend is written down first, durably. Waits for the disk.
struct Recording: Sendable {
    let journal: any Journal

    func record(_ plan: consuming UpstreamPlan) async throws(Refusal) -> RecordedPlan {
        // The whole plan in one batch: all intents of an audience are on disk before its first send.
        let records = plan.audience?.records(plan.facts) ?? [JournalRecord(.intent, facts: plan.facts)]
        try await write(records, plan.facts)
        return RecordedPlan(plan)
    }

    /// What only asks is not written down.
    func record(_ plan: consuming OwnPlan) async throws(Refusal) -> RecordedOwnPlan {
        if plan.call.isRecorded { try await write([JournalRecord(.intent, facts: plan.facts)], plan.facts) }
        return RecordedOwnPlan(plan)
    }

    // Inlined: a layer of `async` more is memory and a look for the executor more.
    @inline(__always)
    private func write(_ records: [JournalRecord], _ facts: CallFacts) async throws(Refusal) {
        do throws(JournalUnavailable) {
            try await journal.record(records)
        } catch {
            throw Refusal(
                error.isFull ? .overloaded : .journalUnavailable, "journal: \(error.detail)",
                extra: .retryAfter(seconds: error.isFull ? 1 : 5)
            ).with(facts)
        }
    }
}
