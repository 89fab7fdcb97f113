internal import GatewayCore
internal import GatewaySupport

/// An event of which several may become one entry.
protocol CoalescedEvent {
    /// Keeps only what both events have in common, and the call of the later one, so that an entry says nothing that is
    /// wrong for one of its events.
    mutating func merge(_ later: Self)
}

/// A rate limiter of log and journal entries, so that no client can fill the disk. Events with an equal `Kind` are
/// coalesced: the first one is written at once, and the later ones of each period become one entry with their count.
///
/// The number of entries in a window is limited. A summary entry (`Entry.rest`) counts the events of all kinds that
/// exceeded this limit or the capacity. Every event is counted once. A value type; the caller passes the time.
struct Coalescer<Kind: OwnedKey, Event: CoalescedEvent> {
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
        /// Whether events that exceed `maximum` keep their kind and wait for a later window. Otherwise the summary entry
        /// counts them.
        var keepsKinds = false
    }

    /// An entry to write now.
    enum Entry {
        /// The events of a kind: what they have in common, and their number.
        case kind(Kind, Event, count: Int)
        /// The summary entry: `count` events of several kinds.
        case rest(count: Int)
    }

    private struct Pending {
        /// The time of the last entry; nil if the first one still waits for a window with room.
        var written: Int64?
        var waiting = 0
        /// The waiting events, merged; nil if none waits.
        var event: Event?
        /// The time since which an event waits.
        var since: Int64 = 0

        func isDue(_ now: Int64, _ period: Int64) -> Bool { written.map { now - $0 >= period } ?? true }

        mutating func add(_ event: Event, _ now: Int64) {
            if waiting == 0 {
                (self.event, since) = (event, now)
            } else {
                self.event?.merge(event)
            }
            waiting += 1
        }
    }

    private let bounds: Bounds
    private var pending: BoundedMap<Kind, Pending>
    private var windowBegan: Int64?
    private var inWindow = 0
    private var rest = 0
    private var summaryWritten: Int64?

    init(_ bounds: Bounds) {
        self.bounds = bounds
        pending = BoundedMap(capacity: bounds.capacity)
    }

    /// Adds an event and returns the entries to write now.
    mutating func add(_ event: Event, of kind: Kind, now: MonotonicInstant) -> [Entry] {
        let now = now.nanoseconds
        var isDue = true
        let isTracked = pending.update(kind) { [period = bounds.period] known in
            known.add(event, now)
            isDue = known.isDue(now, period)
        }
        if !isTracked {
            guard pending.count < bounds.capacity else {
                rest += 1
                return summaryIfDue(now)
            }
            var known = Pending()
            known.add(event, now)
            pending.insert(known, for: kind)
        }
        return isDue ? write(kind, now) : []
    }

    /// Returns the entries that are due without a new event. Called once a second.
    ///
    /// - Parameter all: Whether to return every waiting event now, due or not. True for the final flush at shutdown.
    mutating func flush(now: MonotonicInstant, all: Bool = false) -> [Entry] {
        let now = now.nanoseconds
        let due = pending.entries.filter { all || $0.value.isDue(now, bounds.period) }
        // The next event of a kind without waiting events is written at once again.
        for known in due where known.value.waiting == 0 { pending.remove(known.key) }
        var entries: [Entry] = []
        for known in due.filter({ $0.value.waiting > 0 }).sorted(by: { $0.value.since < $1.value.since }) {
            entries += write(known.key, now, all: all)
        }
        if all { pending.removeAll() }
        return entries + (all ? flushSummary(now) : summaryIfDue(now))
    }

    /// The number of tracked kinds.
    var kinds: Int { pending.count }

    /// Returns the number of tracked kinds of one owner.
    func kinds(of owner: Kind.Owner) -> Int { pending.count(of: owner) }

    /// Returns whether a kind is tracked.
    func isTracked(_ kind: Kind) -> Bool { pending.entry(for: kind) != nil }

    /// The number of events that wait to be written.
    var waiting: Int { pending.entries.reduce(rest) { $0 + $1.value.waiting } }

    /// Writes the waiting events of a kind, if the window has room.
    private mutating func write(_ kind: Kind, _ now: Int64, all: Bool = false) -> [Entry] {
        if now - (windowBegan ?? .min / 2) >= bounds.window { (windowBegan, inWindow) = (now, 0) }
        let hasRoom = inWindow < bounds.maximum || (all && bounds.keepsKinds)
        guard hasRoom || !bounds.keepsKinds, let known = pending[kind], let event = known.event else { return [] }
        pending.update(kind) { $0 = Pending(written: now) }
        guard hasRoom else {
            rest += known.waiting
            return summaryIfDue(now)
        }
        inWindow += 1
        return [.kind(kind, event, count: known.waiting)]
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
