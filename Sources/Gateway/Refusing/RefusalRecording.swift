internal import GatewayCore
internal import Synchronization

/// Writes refusals down, merged. Shared by all loops; a refusal costs one short critical section.
final class RefusalRecording: Sendable {
    private let journal: any Journal
    private let clocks: Clocks
    private let merged = Mutex(MergedRefusals())

    init(journal: any Journal, clocks: Clocks) {
        self.journal = journal
        self.clocks = clocks
    }

    /// Takes the refusal of a call whose caller is known.
    func note(_ refusal: Refusal, _ facts: CallFacts) {
        var facts = facts
        if case .limit(let name, _)? = refusal.extra { facts.limit = name }
        let record = JournalRecord(.refusal, facts: facts, result: refusal.code.rawValue)
        let now = clocks.monotonic()
        for record in merged.withLock({ $0.add(record, now: now) }) { journal.note(record) }
    }

    /// Writes what is due; everything where there will be no later.
    func settle(all: Bool) {
        let now = clocks.monotonic()
        for record in merged.withLock({ $0.settle(now: now, all: all) }) { journal.note(record) }
    }
}
