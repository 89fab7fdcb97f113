internal import Dispatch
internal import GatewayCore
internal import Synchronization

/// What waits to be written, between those who record and the one thread that writes.
///
/// The lock is held for bookkeeping only, never during a write. A caller that finds the writer asleep wakes it; what comes while
/// it writes is its next batch. For notes alone it is not woken at once: for a moment they wait for company.
final class JournalQueue: Sendable {
    /// Records that belong together, and who waits for them; nobody waits for a note. By reference: it goes through lists.
    final class Item: Sendable {
        /// What they say.
        let entry: JournalEntry
        /// How many of them are intents.
        let intents: Int
        /// How many of them are outcomes.
        let outcomes: Int
        /// Whether they only complete what the journal holds already.
        let completesOnly: Bool
        let waiter: JournalWaiter?

        init(_ records: [JournalRecord], _ waiter: JournalWaiter) {
            var (intents, outcomes, refusals) = (0, 0, 0)
            entry = JournalEntry(records) { kind in
                switch kind {
                case .intent: intents += 1
                case .outcome: outcomes += 1
                case .refusal: refusals += 1
                case .replay, .operator, .start, .stop, .recovered, .checkpoint, .retired: break
                }
            }
            self.intents = intents
            self.outcomes = outcomes
            completesOnly = !records.isEmpty && intents + refusals == 0
            self.waiter = waiter
        }

        init(_ note: JournalRecord) {
            entry = JournalEntry(note)
            intents = note.kind == .intent ? 1 : 0
            outcomes = note.kind == .outcome ? 1 : 0
            completesOnly = note.kind != .intent && note.kind != .refusal
            waiter = nil
        }
    }

    /// Why nothing can be recorded.
    enum Outage: Sendable {
        /// Too little space is left. What completes an intent is still written.
        case space(JournalUnavailable)
        /// Writing failed. Notes are kept until it works again.
        case failure(JournalUnavailable)
        /// The journal was closed.
        case closed

        var reason: JournalUnavailable {
            switch self {
            case .space(let reason), .failure(let reason): reason
            case .closed: JournalUnavailable("the journal is closed")
            }
        }
    }

    /// What the writer does, as far as those who add must know.
    enum Writer {
        /// It will look at the queue again by itself.
        case awake
        /// It sleeps until something comes.
        case idle
        /// It has notes to write, and waits a moment for somebody who waits.
        case gathering
    }

    struct State {
        var items: [Item] = []
        /// The records in `items`.
        var queued = 0
        /// Room kept for outcomes: one for each intent that was admitted and has had no outcome yet.
        var reserved = 0
        var dropped = 0
        var outage: Outage?
        var isClosing = false
        var writer = Writer.awake
        /// How many of `items` somebody waits for.
        var awaited = 0
        var isFinished = false
        var closers: [CheckedContinuation<Void, Never>] = []
        var bounds: JournalFile.Bounds?
        var loss: String?
    }

    let state = Mutex(State())
    let wake = DispatchSemaphore(value: 0)
    private let limit: Int

    /// An empty queue.
    ///
    /// - Parameter limit: how many records may wait, the outcomes of admitted intents included.
    init(limit: Int) { self.limit = limit }

    /// Why nothing can be recorded at present.
    var outage: JournalUnavailable? { state.withLock { ($0.isClosing ? .closed : $0.outage)?.reason } }

    /// How many records wait, and for how many outcomes room is kept.
    var load: (queued: Int, reserved: Int) { state.withLock { ($0.queued, $0.reserved) } }

    /// The lines that were found missing last since the journal was opened; nil where none were.
    var loss: String? { state.withLock { $0.loss } }

    /// Notes that lines are missing.
    func noteLoss(_ loss: String) { state.withLock { $0.loss = loss } }

    /// Adds records for somebody who waits. On refusal the answer is at once, and nothing was added.
    func add(_ records: [JournalRecord], _ waiter: JournalWaiter) {
        let item = Item(records, waiter)
        let (intents, outcomes) = (item.intents, item.outcomes)
        let (refusal, mustWake) = state.withLock { state -> (JournalUnavailable?, Bool) in
            if state.isClosing { return (Outage.closed.reason, false) }
            switch state.outage {
            case .space where item.completesOnly, nil: break
            case .space(let reason), .failure(let reason): return (reason, false)
            case .closed: return (Outage.closed.reason, false)
            }
            // Outcomes take the room that was kept for them; an intent takes its own and that of its outcome.
            let needed = item.entry.lines + intents - min(outcomes, state.reserved)
            guard state.queued + state.reserved + needed <= limit else {
                return (JournalUnavailable("too many records wait to be written", isFull: true), false)
            }
            state.reserved += intents - min(outcomes, state.reserved)
            return (nil, Self.append(item, &state))
        }
        if let refusal { waiter.continuation.resume(returning: .failure(refusal)) }
        if mustWake { waiter.wake(wake) }
    }

    /// Adds a record for which nobody waits. The outcome of an intent always finds room; anything else is dropped, and counted,
    /// where half of the queue is taken, so that notes cannot keep calls from being recorded.
    func note(_ record: JournalRecord) {
        let item = Item(record)
        let mustWake = state.withLock { state -> Bool in
            let isExpected = record.kind == .outcome && state.reserved > 0
            var hasRoom = isExpected || state.queued + state.reserved < limit / 2
            if case .space = state.outage, !item.completesOnly { hasRoom = false }
            guard hasRoom, !state.isFinished else {
                state.dropped += 1
                return false
            }
            if isExpected { state.reserved -= 1 }
            return Self.append(item, &state)
        }
        if mustWake { wake.signal() }
    }

    /// Asks the writer to write what is there and to stop, and returns when it has.
    func close() async {
        await withCheckedContinuation { continuation in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.closers.append(continuation) }
                return state.isFinished
            }
            if isFinished { continuation.resume() } else { requestClose() }
        }
    }

    /// Asks the writer to write what is there and to stop.
    func requestClose() {
        state.withLock { $0.isClosing = true }
        wake.signal()
    }

    /// Has the writer keep to other bounds from its next batch on.
    func set(_ bounds: JournalFile.Bounds) {
        state.withLock { $0.bounds = bounds }
        wake.signal()
    }

    /// For the writer: the bounds that were set since the last time, if any were.
    func takeBounds() -> JournalFile.Bounds? {
        state.withLock { state in
            defer { state.bounds = nil }
            return state.bounds
        }
    }

    /// Returns whether the writer has to be woken.
    private static func append(_ item: Item, _ state: inout State) -> Bool {
        state.items.append(item)
        state.queued += item.entry.lines
        if item.waiter != nil { state.awaited += 1 }
        switch state.writer {
        case .awake: return false
        case .gathering where item.waiter == nil: return false
        case .idle, .gathering:
            state.writer = .awake
            return true
        }
    }
}
