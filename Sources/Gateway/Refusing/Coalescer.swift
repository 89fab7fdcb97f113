internal import GatewayCore

/// Decides which of many similar events are written down, so that nobody can fill a disk by causing them: the first of a kind at
/// once, then one in each period that says how many it stands for, and no more than so many of all kinds in a window. The rest are
/// one entry with their number. No event is lost from the count.
///
/// A value; times are told to it. Bounded: kinds beyond the capacity are among the rest.
struct Coalescer<Kind: Hashable, Event> {
    /// How often and how much is written; times in nanoseconds.
    struct Bounds {
        /// How long a kind waits between two entries.
        var period: Int64
        /// How many entries of kinds are written in a window.
        var most: Int
        /// How long a window is, and how long the rest waits between two entries.
        var window: Int64
        /// How many kinds are told apart at a time.
        var capacity = 4096
    }

    /// What is to be written now.
    enum Entry {
        /// The last event of a kind, for `count` of them.
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
    private var others = 0
    private var othersWritten: Int64?

    init(_ bounds: Bounds) { self.bounds = bounds }

    /// Takes an event and returns what is to be written now.
    mutating func add(_ event: Event, of kind: Kind, now: MonotonicInstant) -> [Entry] {
        let now = now.nanoseconds
        guard var known = pending[kind] else {
            guard pending.count < bounds.capacity else {
                others += 1
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

    /// Returns what is due though no event comes; asked once a second.
    ///
    /// - Parameter all: whether what is not due yet is written too: there will be no later.
    mutating func settle(now: MonotonicInstant, all: Bool = false) -> [Entry] {
        let now = now.nanoseconds
        var due: [Entry] = []
        for (kind, known) in pending where all || now - known.written >= bounds.period {
            // One that nothing waits for is forgotten: the next of its kind is a first again.
            pending[kind] = known.waiting > 0 && !all ? Pending(written: now, last: known.last) : nil
            if known.waiting > 0 { due += write(known.last, known.waiting, now) }
        }
        return due + (all ? takeRest(now) : restIfDue(now))
    }

    /// How many kinds are told apart at present.
    var kinds: Int { pending.count }

    /// How many events wait to be written.
    var waiting: Int { pending.values.reduce(others) { $0 + $1.waiting } }

    private mutating func write(_ event: Event, _ count: Int, _ now: Int64) -> [Entry] {
        if now - (windowBegan ?? .min / 2) >= bounds.window { (windowBegan, inWindow) = (now, 0) }
        guard inWindow < bounds.most else {
            others += count
            return restIfDue(now)
        }
        inWindow += 1
        return [.kind(event, count: count)]
    }

    private mutating func restIfDue(_ now: Int64) -> [Entry] {
        now - (othersWritten ?? .min / 2) >= bounds.window ? takeRest(now) : []
    }

    private mutating func takeRest(_ now: Int64) -> [Entry] {
        guard others > 0 else { return [] }
        defer { (others, othersWritten) = (0, now) }
        return [.rest(count: others)]
    }
}

extension Coalescer where Event == JournalRecord {
    /// The entries as records; the one of the rest has the result `several`.
    static func records(_ entries: [Entry], rest: String = MergedRefusals.rest) -> [JournalRecord] {
        entries.map { entry in
            switch entry {
            case .kind(var record, let count):
                record.count = count > 1 ? count : nil
                return record
            case .rest(let count):
                return JournalRecord(.refusal, result: rest, count: count)
            }
        }
    }
}
