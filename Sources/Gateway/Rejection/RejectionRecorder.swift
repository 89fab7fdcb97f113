internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The recorder of rejections in the journal, coalesced. Shared by all event loops; a rejection costs one short
/// critical section.
final class RejectionRecorder: Sendable {
    private let journal: any Journal
    private let clocks: Clocks
    private let coalesced = Mutex(CoalescedRejections())

    init(journal: any Journal, clocks: Clocks) {
        self.journal = journal
        self.clocks = clocks
    }

    /// Adds the rejection of a call with a known caller.
    func note(_ rejection: Rejection, _ facts: CallFacts) {
        var facts = facts
        if case .limit(let name, _)? = rejection.extra { facts.limit = name }
        let record = JournalRecord(.rejection, facts: facts, result: rejection.code.rawValue)
        let now = clocks.monotonic()
        for record in coalesced.withLock({ $0.add(record, now: now) }) { journal.note(record) }
    }

    /// Writes the records that are due; all of them if this is the last call.
    func flush(all: Bool) {
        let now = clocks.monotonic()
        for record in coalesced.withLock({ $0.flush(now: now, all: all) }) { journal.note(record) }
    }
}
