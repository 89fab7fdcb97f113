internal import Dispatch
internal import GatewayCore
internal import Synchronization

/// What waits to be written, between those who record and the one thread that writes.
///
/// The lock is held for bookkeeping only, never during a write. Whoever adds first to an empty queue wakes the writer; what
/// comes while it writes is its next batch.
final class JournalQueue: Sendable {
    typealias Continuation = CheckedContinuation<Result<Void, JournalUnavailable>, Never>

    /// Records that belong together, and who waits for them; nobody waits for a note.
    struct Item: Sendable {
        let records: [JournalRecord]
        let continuation: Continuation?

        func count(_ kind: JournalRecord.Kind) -> Int { records.count { $0.kind == kind } }
        /// Whether it only completes what the journal holds already.
        var completesOnly: Bool { !records.isEmpty && records.allSatisfy { $0.kind != .intent && $0.kind != .refusal } }
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

    private struct State {
        var items: [Item] = []
        /// The records in `items`.
        var queued = 0
        /// Room kept for outcomes: one for each intent that was admitted and has had no outcome yet.
        var reserved = 0
        var dropped = 0
        var outage: Outage?
        var isClosing = false
        var isWriterAsleep = false
        var isFinished = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let limit: Int

    /// An empty queue.
    ///
    /// - Parameter limit: how many records may wait, the outcomes of admitted intents included.
    init(limit: Int) { self.limit = limit }

    /// Why nothing can be recorded at present.
    var outage: JournalUnavailable? { state.withLock { ($0.isClosing ? .closed : $0.outage)?.reason } }

    /// How many records wait, and for how many outcomes room is kept.
    var load: (queued: Int, reserved: Int) { state.withLock { ($0.queued, $0.reserved) } }

    /// Adds records for somebody who waits. On refusal the answer is at once, and nothing was added.
    func add(_ records: [JournalRecord], _ continuation: Continuation) {
        let item = Item(records: records, continuation: continuation)
        let intents = item.count(.intent)
        let outcomes = item.count(.outcome)
        let (refusal, mustWake) = state.withLock { state -> (JournalUnavailable?, Bool) in
            if state.isClosing { return (Outage.closed.reason, false) }
            switch state.outage {
            case .space where item.completesOnly, nil: break
            case .space(let reason), .failure(let reason): return (reason, false)
            case .closed: return (Outage.closed.reason, false)
            }
            // Outcomes take the room that was kept for them; an intent takes its own and that of its outcome.
            let needed = records.count + intents - min(outcomes, state.reserved)
            guard state.queued + state.reserved + needed <= limit else {
                return (JournalUnavailable("too many records wait to be written"), false)
            }
            state.reserved += intents - min(outcomes, state.reserved)
            return (nil, Self.append(item, &state))
        }
        if let refusal { continuation.resume(returning: .failure(refusal)) }
        if mustWake { wake.signal() }
    }

    /// Adds a record for which nobody waits. The outcome of an intent always finds room; anything else is dropped, and counted,
    /// where half of the queue is taken, so that notes cannot keep calls from being recorded.
    func note(_ record: JournalRecord) {
        let item = Item(records: [record], continuation: nil)
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

    // MARK: For the writer's thread

    /// Whether the writer is asked to stop.
    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// Blocks until there is something to write or to stop for, or until the time is over.
    func waitForWork(atMost time: Duration?) {
        let mustWait = state.withLock { state in
            state.isWriterAsleep = state.items.isEmpty && !state.isClosing
            return state.isWriterAsleep
        }
        guard mustWait else { return }
        if let time { sleep(atMost: time) } else { wake.wait() }
        state.withLock { $0.isWriterAsleep = false }
    }

    /// Blocks for the time, or until the writer is asked to stop.
    func sleep(atMost time: Duration) {
        guard !isClosing else { return }
        let (seconds, attoseconds) = time.components
        _ = wake.wait(timeout: .now() + .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)))
    }

    /// Everything that waits, and how many notes were dropped since the last time.
    func take() -> (items: [Item], dropped: Int) {
        state.withLock { state in
            let taken = (state.items, state.dropped)
            state.items = []
            state.queued = 0
            state.dropped = 0
            return taken
        }
    }

    /// Puts what could not be written before everything else that waits.
    func putBack(_ items: [Item], dropped: Int) {
        state.withLock { state in
            state.items.insert(contentsOf: items, at: 0)
            state.queued += items.reduce(0) { $0 + $1.records.count }
            state.dropped += dropped
        }
    }

    /// Says whether records can be written. Where they cannot, those who wait are told; returns how many records that were.
    @discardableResult
    func set(_ outage: Outage?) -> Int {
        let refused = state.withLock { state -> [Item] in
            state.outage = outage
            guard let outage else { return [] }
            var refused: [Item] = []
            state.items.removeAll { item in
                guard item.continuation != nil else { return false }
                if case .space = outage, item.completesOnly { return false }
                refused.append(item)
                return true
            }
            state.queued -= refused.reduce(0) { $0 + $1.records.count }
            return refused
        }
        guard let outage else { return 0 }
        refuse(refused, outage.reason)
        return refused.reduce(0) { $0 + $1.records.count }
    }

    /// Tells those who wait that their records are not on disk and will not be.
    func refuse(_ items: [Item], _ reason: JournalUnavailable) {
        let intents = items.reduce(0) { $0 + $1.count(.intent) }
        let outcomes = items.reduce(0) { $0 + $1.count(.outcome) }
        // The intents will have no outcome; what the outcomes were for still needs one.
        state.withLock { $0.reserved = max(0, $0.reserved - intents) + outcomes }
        for item in items { item.continuation?.resume(returning: .failure(reason)) }
    }

    /// The writer has stopped; returns how many records it left behind.
    func finish() -> Int {
        let (left, dropped, closers) = state.withLock { state in
            defer { (state.items, state.closers) = ([], []) }
            state.isClosing = true
            state.isFinished = true
            return (state.items, state.dropped, state.closers)
        }
        refuse(left, Outage.closed.reason)
        for closer in closers { closer.resume() }
        return left.reduce(dropped) { $0 + $1.records.count }
    }

    /// Returns whether the writer has to be woken.
    private static func append(_ item: Item, _ state: inout State) -> Bool {
        state.items.append(item)
        state.queued += item.records.count
        defer { state.isWriterAsleep = false }
        return state.isWriterAsleep
    }
}
