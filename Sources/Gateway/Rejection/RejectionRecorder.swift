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
    func record(_ rejection: Rejection, _ facts: CallFacts) {
        var facts = facts
        if case .limit(let name, _)? = rejection.extra { facts.limit = name }
        let record = JournalRecord(.rejection, facts: facts, result: rejection.code.rawValue)
        let now = clocks.monotonic()
        for record in coalesced.withLock({ $0.add(record, now: now) }) { journal.append(record) }
    }

    /// Writes the records that are due; all of them if this is the last call.
    func flush(all: Bool) {
        let now = clocks.monotonic()
        for record in coalesced.withLock({ $0.flush(now: now, all: all) }) { journal.append(record) }
    }
}

/// The coalesced journal records of rejections: the first of a kind at once, then one record a second with its count.
///
/// At most 200 records a second are written, and one summary record for all further rejections. Rejections of kinds
/// beyond the capacity are also in the summary record. A value type; the caller passes the time.
struct CoalescedRejections {
    /// The properties of rejections that share one record.
    struct Kind: Hashable {
        let user: UserName?
        let peer: Peer.Address?
        let code: String?
        let rule: String?
        let limit: String?

        /// Identifies the caller by user name, or by address if the user is unknown.
        init(_ record: JournalRecord) {
            user = record.facts?.user
            peer = user == nil ? record.facts?.peer.address : nil
            code = record.result
            rule = record.facts?.rule
            limit = record.facts?.limit
        }
    }

    /// The maximum number of records in a second, excluding the summary record.
    static let maximumPerSecond = 200
    /// The maximum number of kinds that are tracked at a time.
    static let capacity = 4096
    /// The result in the summary record.
    static let rest = "several"

    private typealias Records = Coalescer<Kind, JournalRecord>
    private var records = Records(
        .init(period: 1_000_000_000, maximum: maximumPerSecond, window: 1_000_000_000, capacity: capacity))

    /// Adds a rejection and returns the records to write now.
    mutating func add(_ record: JournalRecord, now: MonotonicInstant) -> [JournalRecord] {
        Records.records(records.add(record, of: Kind(record), now: now))
    }

    /// Returns the records that are due without a new rejection. Called once a second.
    ///
    /// - Parameter all: Whether to return everything, because this is the last call.
    mutating func flush(now: MonotonicInstant, all: Bool = false) -> [JournalRecord] {
        Records.records(records.flush(now: now, all: all))
    }

    /// The number of tracked kinds. For tests of the bound.
    var kinds: Int { records.kinds }

    /// The number of rejections that wait to be written. For tests.
    var waiting: Int { records.waiting }
}
