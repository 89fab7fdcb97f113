internal import GatewayCore

/// Coalesces the rejections of known callers: the first of a kind at once, then one record a second with its count. At
/// most 200 records a second are written; the rest become one record.
///
/// A value type; the caller passes the time. Bounded: rejections of kinds beyond the capacity are counted with the
/// rest.
struct CoalescedRejections {
    /// A kind of rejections that are counted together.
    struct Kind: Hashable {
        let user: UserName?
        let peer: Peer.Address?
        let code: String?
        let rule: String?
        let limit: String?

        /// Distinguishes known callers by name, and others by address.
        init(_ record: JournalRecord) {
            user = record.facts?.user
            peer = user == nil ? record.facts?.peer.address : nil
            code = record.result
            rule = record.facts?.rule
            limit = record.facts?.limit
        }
    }

    /// The maximum number of records in a second, without the one of the rest.
    static let maximumPerSecond = 200
    /// The maximum number of kinds that are tracked at a time.
    static let capacity = 4096
    /// The result of the record of the rest.
    static let rest = "several"

    private typealias Records = Coalescer<Kind, JournalRecord>
    private var records = Records(
        .init(period: 1_000_000_000, most: maximumPerSecond, window: 1_000_000_000, capacity: capacity))

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

    /// The number of tracked kinds.
    var kinds: Int { records.kinds }

    /// The number of rejections that wait to be written.
    var waiting: Int { records.waiting }
}
