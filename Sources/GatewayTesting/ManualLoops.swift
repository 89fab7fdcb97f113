public import Gateway
internal import Synchronization

/// What calls wait by, with the time in the test's hand: a timer rings when the test lets the time pass, on the test's thread.
public final class ManualLoops: CallLoops {
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

    /// Loops whose time passes together with the clock's.
    public init(clock: ManualClock) { self.clock = clock }

    /// How many timers there have ever been.
    public var timesScheduled: Int { state.withLock(\.scheduled) }

    /// How many timers have neither rung nor been cancelled.
    public var waiting: Int { state.withLock(\.waiting.count) }

    /// Returns once so many timers wait.
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

    /// Lets time pass, here and on the clock, and rings what is due, the earliest first.
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

    /// Keeps the work until its time.
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
        return Timer(loops: self, number: number)
    }

    /// Starts the task within this call. After a wait it goes on wherever the system lets it.
    @discardableResult public func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.immediate { await work() }
    }

    private struct Timer: CallTimer {
        let loops: ManualLoops
        let number: Int

        func cancel() { loops.state.withLock { $0.waiting[number] = nil } }
    }
}
