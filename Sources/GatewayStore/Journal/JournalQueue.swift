internal import Dispatch
internal import GatewayCore
internal import Synchronization

/// The queue between the callers that record and the writer thread. A note is a record without a waiting caller.
///
/// The lock is held for bookkeeping only, never during a write. A caller wakes an idle writer. Records that arrive
/// during a write form the next batch. Notes alone do not wake the writer at once: they wait briefly for other records.
final class JournalQueue: Sendable {
    /// Records that are written together, and the caller that waits for them. A note has no waiting caller. A class, so
    /// that moving items between lists is cheap.
    final class Item: Sendable {
        /// The serialized records.
        let entry: JournalEntry
        /// The number of intents among them.
        let intents: Int
        /// The number of outcomes among them.
        let outcomes: Int
        /// Whether the records only complete what the journal already contains: neither an intent nor a rejection is
        /// among them.
        let completesOnly: Bool
        let waiter: JournalWaiter?

        init(_ records: [JournalRecord], _ waiter: JournalWaiter) {
            var (intents, outcomes, rejections) = (0, 0, 0)
            entry = JournalEntry(records) { kind in
                switch kind {
                case .intent: intents += 1
                case .outcome: outcomes += 1
                case .rejection: rejections += 1
                case .replay, .operator, .start, .stop, .recovered, .checkpoint, .retired, .nodeHead: break
                }
            }
            self.intents = intents
            self.outcomes = outcomes
            completesOnly = !records.isEmpty && intents + rejections == 0
            self.waiter = waiter
        }

        init(_ record: JournalRecord, _ waiter: JournalWaiter? = nil) {
            entry = JournalEntry(record)
            intents = record.kind == .intent ? 1 : 0
            outcomes = record.kind == .outcome ? 1 : 0
            completesOnly = record.kind != .intent && record.kind != .rejection
            self.waiter = waiter
        }

        /// Creates an item of an entry that belongs to no call.
        init(_ entry: JournalEntry) {
            self.entry = entry
            (intents, outcomes, completesOnly, waiter) = (0, 0, false, nil)
        }
    }

    /// The reason why records are rejected.
    enum Outage: Sendable {
        /// Too little disk space is left. Records that complete an intent are still written.
        case space(JournalUnavailable)
        /// A write failed. Notes are kept until writing works again.
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

    /// The state of the writer, as far as callers need it.
    ///
    /// - `awake`: The writer checks the queue again without a wake-up. Exits to `idle` or `batching` when it waits for
    ///   work.
    /// - `idle`: The writer sleeps until a record arrives, a timeout passes, or it must stop. Exits to `awake`.
    /// - `batching`: The writer has only notes to write and waits briefly for a record with a waiting caller. Exits to
    ///   `awake` when one arrives, after ``maximumBatchDelay``, or when it must stop.
    enum Writer {
        /// The writer checks the queue again without a wake-up.
        case awake
        /// The writer sleeps until a record arrives.
        case idle
        /// The writer has only notes and waits briefly for a record with a waiting caller.
        case batching
    }

    /// The content of the queue. The lock protects it.
    struct State {
        var items: [Item] = []
        /// The number of records in `items`.
        var queued = 0
        /// The room reserved for outcomes: one for each admitted intent without an outcome.
        var reserved = 0
        var dropped = 0
        var outage: Outage?
        var isClosing = false
        var writer = Writer.awake
        /// The number of `items` with a waiting caller.
        var awaited = 0
        var isFinished = false
        var closers: [CheckedContinuation<Void, Never>] = []
        var bounds: JournalFile.Bounds?
        var loss: String?
    }

    let state = Mutex(State())
    let wake = DispatchSemaphore(value: 0)
    private let limit: Int

    /// Creates an empty queue.
    ///
    /// - Parameter limit: The maximum number of waiting records, including the expected outcomes of admitted intents.
    init(limit: Int) { self.limit = limit }

    /// The reason why records are rejected at present; nil if they are accepted.
    var outage: JournalUnavailable? { state.withLock { ($0.isClosing ? .closed : $0.outage)?.reason } }

    /// The number of waiting records and of reserved outcomes.
    var load: (queued: Int, reserved: Int) { state.withLock { ($0.queued, $0.reserved) } }

    /// The last loss of lines detected since the journal was opened; nil without one.
    var loss: String? { state.withLock { $0.loss } }

    /// Stores the description of missing lines.
    func recordLoss(_ loss: String) { state.withLock { $0.loss = loss } }

    /// Adds records for a waiting caller. A rejection resumes the caller at once and adds nothing.
    func add(_ records: [JournalRecord], _ waiter: JournalWaiter) { add(Item(records, waiter), waiter) }

    /// Adds one record for a waiting caller, as the function for several does.
    func add(_ record: JournalRecord, _ waiter: JournalWaiter) { add(Item(record, waiter), waiter) }

    private func add(_ item: Item, _ waiter: JournalWaiter) {
        let (intents, outcomes) = (item.intents, item.outcomes)
        let (rejection, mustWake) = state.withLock { state -> (JournalUnavailable?, Bool) in
            if state.isClosing { return (Outage.closed.reason, false) }
            switch state.outage {
            case .space where item.completesOnly, nil: break
            case .space(let reason), .failure(let reason): return (reason, false)
            case .closed: return (Outage.closed.reason, false)
            }
            // An outcome uses the room reserved for it. An intent needs its own room and its outcome's.
            let needed = item.entry.lines + intents - min(outcomes, state.reserved)
            guard state.queued + state.reserved + needed <= limit else {
                return (JournalUnavailable("the queue of unwritten records is full", isFull: true), false)
            }
            state.reserved += intents - min(outcomes, state.reserved)
            return (nil, Self.append(item, &state))
        }
        if let rejection { waiter.continuation.resume(returning: .failure(rejection)) }
        if mustWake { waiter.wake(wake) }
    }

    /// Adds a record without a waiting caller. An expected outcome always has room. Any other note is dropped and
    /// counted if half of the queue is used, so that notes do not prevent the recording of calls.
    func append(_ record: JournalRecord) { append(Item(record), isOutcome: record.kind == .outcome) }

    /// Adds an entry that belongs to no call, as the function for a record does.
    ///
    /// - Returns: False if the entry was dropped.
    func append(_ entry: JournalEntry) -> Bool { append(Item(entry), isOutcome: false) }

    @discardableResult
    private func append(_ item: Item, isOutcome: Bool) -> Bool {
        let (isAccepted, mustWake) = state.withLock { state -> (Bool, Bool) in
            let isExpected = isOutcome && state.reserved > 0
            var hasRoom = isExpected || state.queued + state.reserved < limit / 2
            if case .space = state.outage, !item.completesOnly { hasRoom = false }
            guard hasRoom, !state.isFinished else {
                state.dropped += 1
                return (false, false)
            }
            if isExpected { state.reserved -= 1 }
            return (true, Self.append(item, &state))
        }
        if mustWake { wake.signal() }
        return isAccepted
    }

    /// Tells the writer to write the queued records and to stop. Returns when it has stopped.
    func close() async {
        await withCheckedContinuation { continuation in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.closers.append(continuation) }
                return state.isFinished
            }
            if isFinished { continuation.resume() } else { requestClose() }
        }
    }

    /// Tells the writer to write the queued records and to stop.
    func requestClose() {
        state.withLock { $0.isClosing = true }
        wake.signal()
    }

    /// Sets the bounds that the writer uses from its next batch on.
    func setBounds(_ bounds: JournalFile.Bounds) {
        state.withLock { $0.bounds = bounds }
        wake.signal()
    }

    /// Returns the bounds set since the last call, if any. Called by the writer.
    func dequeueBounds() -> JournalFile.Bounds? {
        state.withLock { state in
            defer { state.bounds = nil }
            return state.bounds
        }
    }

    /// Appends the item. Returns whether the caller must wake the writer.
    private static func append(_ item: Item, _ state: inout State) -> Bool {
        state.items.append(item)
        state.queued += item.entry.lines
        if item.waiter != nil { state.awaited += 1 }
        switch state.writer {
        case .awake: return false
        case .batching where item.waiter == nil: return false
        case .idle, .batching:
            state.writer = .awake
            return true
        }
    }
}
