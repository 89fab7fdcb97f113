internal import GatewayCore

/// Coalesces similar events, so that no client can fill a disk by causing them. The first event of a kind is written at
/// once. Later ones become one entry with a count in each period. The total number of entries in a window is limited,
/// and further events become one entry with their count. No event is missing from the counts.
///
/// A value type; the caller passes the time. Bounded: events of kinds beyond the capacity are counted with the rest.
struct Coalescer<Kind: Hashable, Event> {
    /// The limits, with times in nanoseconds.
    struct Bounds {
        /// The minimum time between two entries of a kind.
        var period: Int64
        /// The maximum number of entries of kinds in a window.
        var most: Int
        /// The length of a window, which is also the minimum time between two entries of the rest.
        var window: Int64
        /// The maximum number of kinds that are tracked at a time.
        var capacity = 4096
    }

    /// An entry to write now.
    enum Entry {
        /// The last event of a kind, representing `count` of them.
        case kind(Event, count: Int)
        /// `count` events of several kinds.
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
    private var restWritten: Int64?

    init(_ bounds: Bounds) { self.bounds = bounds }

    /// Adds an event and returns the entries to write now.
    mutating func add(_ event: Event, of kind: Kind, now: MonotonicInstant) -> [Entry] {
        let now = now.nanoseconds
        guard var known = pending[kind] else {
            guard pending.count < bounds.capacity else {
                rest += 1
                return restIfDue(now)
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
    /// - Parameter all: Whether to return everything, because this is the last call.
    mutating func flush(now: MonotonicInstant, all: Bool = false) -> [Entry] {
        let now = now.nanoseconds
        var due: [Entry] = []
        for (kind, known) in pending where all || now - known.written >= bounds.period {
            // A kind without waiting events is removed; its next event is written at once again.
            pending[kind] = known.waiting > 0 && !all ? Pending(written: now, last: known.last) : nil
            if known.waiting > 0 { due += write(known.last, known.waiting, now) }
        }
        return due + (all ? flushRest(now) : restIfDue(now))
    }

    /// The number of tracked kinds.
    var kinds: Int { pending.count }

    /// The number of events that wait to be written.
    var waiting: Int { pending.values.reduce(rest) { $0 + $1.waiting } }

    private mutating func write(_ event: Event, _ count: Int, _ now: Int64) -> [Entry] {
        if now - (windowBegan ?? .min / 2) >= bounds.window { (windowBegan, inWindow) = (now, 0) }
        guard inWindow < bounds.most else {
            rest += count
            return restIfDue(now)
        }
        inWindow += 1
        return [.kind(event, count: count)]
    }

    private mutating func restIfDue(_ now: Int64) -> [Entry] {
        now - (restWritten ?? .min / 2) >= bounds.window ? flushRest(now) : []
    }

    private mutating func flushRest(_ now: Int64) -> [Entry] {
        guard rest > 0 else { return [] }
        defer { (rest, restWritten) = (0, now) }
        return [.rest(count: rest)]
    }
}

extension Coalescer where Event == JournalRecord {
    /// Converts entries to records. The entry of the rest has the result `several`.
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
