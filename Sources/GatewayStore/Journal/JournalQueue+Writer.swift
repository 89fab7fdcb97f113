internal import Dispatch
internal import GatewayCore
internal import Synchronization

// The side of the writer: all of it is for its thread.
extension JournalQueue {
    /// Whether the writer is asked to stop.
    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// How long notes wait for records that somebody waits for. Alone they would cost a synchronisation of their own, nearly
    /// always in the way of the next call.
    static let longestGathering = Duration.milliseconds(10)

    /// Blocks until there is something to write or to stop for, or until the time is over.
    func waitForWork(atMost time: Duration?) {
        if enter(.idle, while: { $0.items.isEmpty && !$0.isClosing }) {
            if let time { wait(atMost: time) } else { wake.wait() }
        }
        if enter(.gathering, while: { !$0.items.isEmpty && $0.awaited == 0 && !$0.isClosing }) {
            wait(atMost: Self.longestGathering)
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

    /// Blocks for the time, or until the writer is asked to stop.
    func sleep(atMost time: Duration) {
        if !isClosing { wait(atMost: time) }
    }

    private func wait(atMost time: Duration) {
        let (seconds, attoseconds) = time.components
        _ = wake.wait(timeout: .now() + .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)))
    }

    /// Everything that waits, and how many notes were dropped since the last time.
    func take() -> (items: [Item], dropped: Int) {
        state.withLock { state in
            let taken = (state.items, state.dropped)
            state.items = []
            state.queued = 0
            state.awaited = 0
            state.dropped = 0
            return taken
        }
    }

    /// Puts what could not be written before everything else that waits.
    func putBack(_ items: [Item], dropped: Int) {
        state.withLock { state in
            state.items.insert(contentsOf: items, at: 0)
            state.queued += items.reduce(0) { $0 + $1.entry.lines }
            state.awaited += items.count { $0.waiter != nil }
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
                guard item.waiter != nil else { return false }
                if case .space = outage, item.completesOnly { return false }
                refused.append(item)
                return true
            }
            state.queued -= refused.reduce(0) { $0 + $1.entry.lines }
            state.awaited -= refused.count
            return refused
        }
        guard let outage else { return 0 }
        refuse(refused, outage.reason)
        return refused.reduce(0) { $0 + $1.entry.lines }
    }

    /// Tells those who wait that their records are not on disk and will not be.
    func refuse(_ items: [Item], _ reason: JournalUnavailable) {
        let intents = items.reduce(0) { $0 + $1.intents }
        let outcomes = items.reduce(0) { $0 + $1.outcomes }
        // The intents will have no outcome; what the outcomes were for still needs one.
        state.withLock { $0.reserved = max(0, $0.reserved - intents) + outcomes }
        JournalWaiter.tell(.failure(reason), to: items)
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
        return left.reduce(dropped) { $0 + $1.entry.lines }
    }
}
