internal import GatewayCore
internal import GatewaySupport

/// A rate limiter of log and journal entries, so that no client can fill the disk. Events with an equal `Kind` are
/// coalesced: the first one is written at once, and the later ones of each period become one entry with their count.
///
/// The number of entries in a window is limited. A summary entry (`Entry.rest`) counts the events of all kinds that
/// exceeded this limit or the capacity. Every event is counted once. A value type; the caller passes the time.
struct Coalescer<Kind: Hashable, Event> {
    /// The limits, with times in nanoseconds.
    struct Bounds {
        /// The minimum time between two entries of a kind.
        var period: Int64
        /// The maximum number of entries in a window, excluding the summary entry.
        var maximum: Int
        /// The length of a window, which is also the minimum time between two summary entries.
        var window: Int64
        /// The maximum number of kinds that are tracked at a time.
        var capacity = 4096
    }

    /// An entry to write now.
    enum Entry {
        /// The last event of a kind, representing `count` of them.
        case kind(Event, count: Int)
        /// The summary entry: `count` events of several kinds.
        case rest(count: Int)
    }

    private struct Pending {
        var written: Int64
        var waiting = 0
        var last: Event
    }

    private let bounds: Bounds
    private var pending: [Kind: Pending] = [:]
    private var windowBegan: Int64?
    private var inWindow = 0
    private var rest = 0
    private var summaryWritten: Int64?

    init(_ bounds: Bounds) { self.bounds = bounds }

    /// Adds an event and returns the entries to write now.
    mutating func add(_ event: Event, of kind: Kind, now: MonotonicInstant) -> [Entry] {
        let now = now.nanoseconds
        guard var known = pending[kind] else {
            guard pending.count < bounds.capacity else {
                rest += 1
                return summaryIfDue(now)
            }
            pending[kind] = Pending(written: now, last: event)
            return write(event, 1, now)
        }
        known.waiting += 1
        known.last = event
        let isDue = now - known.written >= bounds.period
        pending[kind] = isDue ? Pending(written: now, last: event) : known
        return isDue ? write(event, known.waiting, now) : []
    }

    /// Returns the entries that are due without a new event. Called once a second.
    ///
    /// - Parameter all: Whether to return every waiting event now, due or not. True for the final flush at shutdown.
    mutating func flush(now: MonotonicInstant, all: Bool = false) -> [Entry] {
        let now = now.nanoseconds
        var due: [Entry] = []
        for (kind, known) in pending where all || now - known.written >= bounds.period {
            // A kind without waiting events is removed; its next event is written at once again.
            pending[kind] = known.waiting > 0 && !all ? Pending(written: now, last: known.last) : nil
            if known.waiting > 0 { due += write(known.last, known.waiting, now) }
        }
        return due + (all ? flushSummary(now) : summaryIfDue(now))
    }

    /// The number of tracked kinds.
    var kinds: Int { pending.count }

    /// The number of events that wait to be written.
    var waiting: Int { pending.values.reduce(rest) { $0 + $1.waiting } }

    private mutating func write(_ event: Event, _ count: Int, _ now: Int64) -> [Entry] {
        if now - (windowBegan ?? .min / 2) >= bounds.window { (windowBegan, inWindow) = (now, 0) }
        guard inWindow < bounds.maximum else {
            rest += count
            return summaryIfDue(now)
        }
        inWindow += 1
        return [.kind(event, count: count)]
    }

    private mutating func summaryIfDue(_ now: Int64) -> [Entry] {
        now - (summaryWritten ?? .min / 2) >= bounds.window ? flushSummary(now) : []
    }

    private mutating func flushSummary(_ now: Int64) -> [Entry] {
        guard rest > 0 else { return [] }
        defer { (rest, summaryWritten) = (0, now) }
        return [.rest(count: rest)]
    }
}

extension Coalescer where Event == JournalRecord {
    /// Converts entries to records. The summary record has the result `rest`.
    static func records(_ entries: [Entry], rest: String = CoalescedRejections.rest) -> [JournalRecord] {
        entries.map { entry in
            switch entry {
            case .kind(var record, let count):
                record.count = count > 1 ? count : nil
                return record
            case .rest(let count):
                return JournalRecord(.rejection, result: rest, count: count)
            }
        }
    }
}
