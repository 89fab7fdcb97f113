public import Gateway
internal import Synchronization

/// Timers on a manual clock. They fire when the test advances the time, on the test's thread.
public final class ManualScheduler: CallScheduler {
    private struct Waiting {
        var end: Duration
        var work: @Sendable () -> Void
    }

    private struct State {
        var now = Duration.zero
        var next = 0
        var waiting: [Int: Waiting] = [:]
        var scheduled = 0
        var watchers: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }

    private let clock: ManualClock
    private let state = Mutex(State())

    /// Creates timers whose time advances together with the clock.
    public init(clock: ManualClock) { self.clock = clock }

    /// The number of timers ever scheduled.
    public var timesScheduled: Int { state.withLock(\.scheduled) }

    /// The number of timers that have neither fired nor been cancelled.
    public var waiting: Int { state.withLock(\.waiting.count) }

    /// Returns once this many timers are waiting.
    public func untilWaiting(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let there = state.withLock { state in
                if state.waiting.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if there { continuation.resume() }
        }
    }

    /// Advances the time, here and on the clock, and fires the due timers, earliest first.
    public func advance(by time: Duration) {
        clock.advance(by: time)
        let due = state.withLock { state in
            state.now += time
            let due = state.waiting.filter { $0.value.end <= state.now }
            for number in due.keys { state.waiting[number] = nil }
            return due.sorted { ($0.value.end, $0.key) < ($1.value.end, $1.key) }
        }
        for (_, waiting) in due { waiting.work() }
    }

    /// Schedules the work.
    public func schedule(after time: Duration, _ work: @escaping @Sendable () -> Void) -> any CallTimer {
        let (number, watchers) = state.withLock { state in
            state.next += 1
            state.scheduled += 1
            state.waiting[state.next] = Waiting(end: state.now + time, work: work)
            let there = state.waiting.count
            defer { state.watchers.removeAll { $0.count <= there } }
            return (state.next, state.watchers.filter { $0.count <= there }.map { $0.1 })
        }
        for watcher in watchers { watcher.resume() }
        return Timer(scheduler: self, number: number)
    }

    /// Starts the task synchronously. After its first suspension it continues on any executor.
    @discardableResult public func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.immediate { await work() }
    }

    private struct Timer: CallTimer {
        let scheduler: ManualScheduler
        let number: Int

        func cancel() { scheduler.state.withLock { $0.waiting[number] = nil } }
    }
}
