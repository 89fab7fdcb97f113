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
/// A record names a recipient, registration, tag or address only if all its rejections concern the same. At most 200
/// records a second are written; the others keep their kind and wait. The rejections of a caller who has
/// `maximumPerUser` kinds already become a record without those names, whose reason is their number: "and 14 others". The
/// rejections of kinds beyond the capacity are one summary record. A value type; the caller passes the time.
struct CoalescedRejections {
    /// The properties of rejections that share one record.
    struct Kind: OwnedKey {
        /// The properties that name somebody or something.
        private struct Target: Hashable {
            let peer: Peer.Address
            let recipient: UserName?
            let audience: String?
            let registration: RegistrationID?
            let session: SessionID?
            let tags: [Tag]
        }

        private let user: UserName?
        private let code: String?
        private let action: Action?
        private let rule: String?
        private let limit: String?
        /// Nil for the rejections beyond the kinds that a caller may have.
        private var target: Target?

        init(_ record: JournalRecord) {
            user = record.facts?.user
            code = record.result
            action = record.facts?.action
            rule = record.facts?.rule
            limit = record.facts?.limit
            target = record.facts.map { facts in
                Target(
                    peer: facts.peer.address, recipient: facts.recipient, audience: facts.audience,
                    registration: facts.registration, session: facts.session,
                    // Beyond a limit a caller is rejected at any rate, and a list of tags may be long.
                    tags: facts.limit == nil ? facts.tags : [])
            }
        }

        /// The kind of the same rejections of any target.
        var ofOthers: Kind {
            var kind = self
            kind.target = nil
            return kind
        }

        var isOfOthers: Bool { target == nil }

        var owner: UserName? { user }
    }

    /// The maximum number of records in a second, excluding the summary record.
    static let maximumPerSecond = 200
    /// The maximum number of kinds that are tracked at a time.
    static let capacity = 16_384
    /// The maximum number of kinds of one user, not counting those of others.
    static let maximumPerUser = 1024
    /// The result in the summary record.
    static let rest = "several"

    private typealias Records = Coalescer<Kind, JournalRecord>
    private var records = Records(
        .init(
            period: 1_000_000_000, maximum: maximumPerSecond, window: 1_000_000_000, capacity: capacity,
            keepsKinds: true))

    /// Adds a rejection and returns the records to write now.
    mutating func add(_ record: JournalRecord, now: MonotonicInstant) -> [JournalRecord] {
        var kind = Kind(record)
        if !records.isTracked(kind), records.kinds(of: kind.owner) >= Self.maximumPerUser { kind = kind.ofOthers }
        return Self.records(records.add(record, of: kind, now: now))
    }

    /// Returns the records that are due without a new rejection. Called once a second.
    ///
    /// - Parameter all: Whether to return everything, because this is the last call.
    mutating func flush(now: MonotonicInstant, all: Bool = false) -> [JournalRecord] {
        Self.records(records.flush(now: now, all: all))
    }

    private static func records(_ entries: [Records.Entry]) -> [JournalRecord] {
        entries.map { entry in
            var record = entry.record
            if case .kind(let kind, _, let count) = entry, kind.isOfOthers {
                record.reason = "and \(count) \(count == 1 ? "other" : "others")"
                record.facts?.establish { facts in
                    facts.recipient = nil
                    facts.audience = nil
                    facts.registration = nil
                    facts.session = nil
                    facts.tags = []
                }
            }
            return record
        }
    }

    /// The number of tracked kinds. For tests of the bound.
    var kinds: Int { records.kinds }

    /// The number of rejections that wait to be written. For tests.
    var waiting: Int { records.waiting }
}
