internal import Dispatch
internal import GatewayCore
internal import Synchronization

// The writer's side of the queue. Only the writer thread uses it.
extension JournalQueue {
    /// Whether the writer must stop.
    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// How long notes wait for records with a waiting caller. Without the wait, notes would cause a separate disk
    /// synchronization, which usually delays the next call.
    static let maximumBatchDelay = Duration.milliseconds(10)

    /// Blocks until there are records to write, the writer must stop, or the time has passed.
    func waitForWork(atMost time: Duration?) {
        if enter(.idle, while: { $0.items.isEmpty && !$0.isClosing }) {
            if let time { wait(atMost: time) } else { wake.wait() }
        }
        if enter(.batching, while: { !$0.items.isEmpty && $0.awaited == 0 && !$0.isClosing }) {
            wait(atMost: Self.maximumBatchDelay)
        }
        state.withLock { $0.writer = .awake }
    }

    private func enter(_ writer: Writer, while condition: (borrowing State) -> Bool) -> Bool {
        state.withLock { state in
            let holds = condition(state)
            state.writer = holds ? writer : .awake
            return holds
        }
    }

    /// Blocks for the time, or until the writer must stop.
    func sleep(atMost time: Duration) {
        if !isClosing { wait(atMost: time) }
    }

    private func wait(atMost time: Duration) {
        let (seconds, attoseconds) = time.components
        _ = wake.wait(timeout: .now() + .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)))
    }

    /// Removes and returns all waiting records, and the number of notes dropped since the last call.
    func dequeueAll() -> (items: [Item], dropped: Int) {
        state.withLock { state in
            let taken = (state.items, state.dropped)
            state.items = []
            state.queued = 0
            state.awaited = 0
            state.dropped = 0
            return taken
        }
    }

    /// Returns unwritten records to the front of the queue.
    func requeue(_ items: [Item], dropped: Int) {
        state.withLock { state in
            state.items.insert(contentsOf: items, at: 0)
            state.queued += items.reduce(0) { $0 + $1.entry.lines }
            state.awaited += items.count { $0.waiter != nil }
            state.dropped += dropped
        }
    }

    /// Sets or clears the outage. An outage fails the waiting records that it affects.
    ///
    /// - Returns: The number of failed records.
    @discardableResult
    func setOutage(_ outage: Outage?) -> Int {
        let failed = state.withLock { state -> [Item] in
            state.outage = outage
            guard let outage else { return [] }
            var failed: [Item] = []
            state.items.removeAll { item in
                guard item.waiter != nil else { return false }
                if case .space = outage, item.completesOnly { return false }
                failed.append(item)
                return true
            }
            state.queued -= failed.reduce(0) { $0 + $1.entry.lines }
            state.awaited -= failed.count
            return failed
        }
        guard let outage else { return 0 }
        fail(failed, outage.reason)
        return failed.reduce(0) { $0 + $1.entry.lines }
    }

    /// Resumes the callers of the items with the error.
    func fail(_ items: [Item], _ reason: JournalUnavailable) {
        let intents = items.reduce(0) { $0 + $1.intents }
        let outcomes = items.reduce(0) { $0 + $1.outcomes }
        // A failed intent needs no outcome. A failed outcome still needs its reserved room.
        state.withLock { $0.reserved = max(0, $0.reserved - intents) + outcomes }
        JournalWaiter.resume(.failure(reason), for: items)
    }

    /// Marks the queue as finished after the writer stopped. Returns the number of unwritten records.
    func finish() -> Int {
        let (left, dropped, closers) = state.withLock { state in
            defer { (state.items, state.closers) = ([], []) }
            state.isClosing = true
            state.isFinished = true
            return (state.items, state.dropped, state.closers)
        }
        fail(left, Outage.closed.reason)
        for closer in closers { closer.resume() }
        return left.reduce(dropped) { $0 + $1.entry.lines }
    }
}
