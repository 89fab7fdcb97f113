internal import GatewayCore

/// Which refusals of known callers are written down: the first of its kind at once, then one a second that says how many it stands
/// for, and no more than 200 of all kinds in a second; the rest are one record.
///
/// A value; times are told to it. Bounded: kinds beyond the capacity are among the rest.
struct MergedRefusals {
    /// Refusals that count together.
    struct Kind: Hashable {
        let user: UserName?
        let peer: Peer.Address?
        let code: String?
        let rule: String?
        let limit: String?

        /// Of a known caller by name, of any other by address.
        init(_ record: JournalRecord) {
            user = record.facts?.user
            peer = user == nil ? record.facts?.peer.address : nil
            code = record.result
            rule = record.facts?.rule
            limit = record.facts?.limit
        }
    }

    /// How many records are written in a second, the one of the rest not counted.
    static let mostInASecond = 200
    /// How many kinds are told apart at a time.
    static let capacity = 4096
    /// The result of the record that stands for the rest.
    static let rest = "several"

    private typealias Records = Coalescer<Kind, JournalRecord>
    private var records = Records(
        .init(period: 1_000_000_000, most: mostInASecond, window: 1_000_000_000, capacity: capacity))

    /// Takes a refusal and returns what is to be written now.
    mutating func add(_ record: JournalRecord, now: MonotonicInstant) -> [JournalRecord] {
        Records.records(records.add(record, of: Kind(record), now: now))
    }

    /// What is due though nothing comes; asked once a second.
    ///
    /// - Parameter all: Whether what is not due yet is written too: there will be no later.
    mutating func settle(now: MonotonicInstant, all: Bool = false) -> [JournalRecord] {
        Records.records(records.settle(now: now, all: all))
    }

    /// How many kinds are told apart at present.
    var kinds: Int { records.kinds }

    /// How many refusals wait to be written.
    var waiting: Int { records.waiting }
}
