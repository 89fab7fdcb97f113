internal import GatewayCore

/// A plan whose intents (`JournalRecord.Kind.intent`) are on disk. Only such a plan can be forwarded, and only the
/// record phase creates one.
struct RecordedPlan: ~Copyable {
    let plan: UpstreamPlan

    fileprivate init(_ plan: consuming UpstreamPlan) { self.plan = plan }
}

/// A call to one of the gateway's own endpoints, recorded if it changes anything. Only the record phase creates one.
struct RecordedLocalPlan: ~Copyable {
    let plan: LocalPlan

    fileprivate init(_ plan: consuming LocalPlan) { self.plan = plan }
}

/// The record phase: durably records the intents before the backend is called. Suspends until they are on disk.
struct Recording: Sendable {
    let journal: any Journal

    /// Records the intents of all steps in one batch.
    ///
    /// - Throws: `journal-unavailable` if they are not on disk; the backend must not be called then. Before anything is
    ///   recorded, the rejection of a caller that was revoked while the call waited.
    func record(_ plan: consuming UpstreamPlan) async throws(Rejection) -> RecordedPlan {
        do throws(Rejection) {
            try plan.caller.revocation?.check()
        } catch {
            throw error.with(plan.facts)
        }
        do throws(JournalUnavailable) {
            if let audience = plan.audience {
                // One batch, so that all intents of an audience are on disk before the first send.
                try await journal.record(audience.records(plan.facts))
            } else {
                try await journal.record(JournalRecord(.intent, facts: plan.facts))
            }
        } catch {
            throw Rejection(error).with(plan.facts)
        }
        return RecordedPlan(plan)
    }

    /// Records the intent of a call that changes something. A read-only call is not recorded.
    func record(_ plan: consuming LocalPlan) async throws(Rejection) -> RecordedLocalPlan {
        do throws(JournalUnavailable) {
            if plan.call.isRecorded {
                try await journal.record(
                    JournalRecord(.intent, facts: plan.facts, notification: plan.call.notification))
            }
        } catch {
            throw Rejection(error).with(plan.facts)
        }
        return RecordedLocalPlan(plan)
    }
}

extension Rejection {
    /// Creates the rejection of a call that needs the journal.
    @inline(never)
    init(_ error: JournalUnavailable) {
        self.init(
            error.isFull ? .overloaded : .journalUnavailable, "journal: \(error.detail)",
            extra: .retryAfter(seconds: error.isFull ? 1 : 5))
    }
}
