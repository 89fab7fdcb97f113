public import Gateway

/// Timers on a manual clock. They fire when the test advances the time, on the test's thread.
public final class ManualScheduler: CallScheduler {
    private struct Waiting {
        var end: Duration
        var work: @Sendable () -> Void
    }

    private struct State {
        var now = Duration.zero
        var waiting: [Int: Waiting] = [:]
        var scheduled = 0
    }

    private let clock: ManualClock
    private let state = AwaitableValue(State())

    /// Creates timers whose time advances together with the clock.
    public init(clock: ManualClock) { self.clock = clock }

    /// The number of timers ever scheduled.
    public var timesScheduled: Int { state.current.scheduled }

    /// The number of timers that have neither fired nor been cancelled.
    public var waiting: Int { state.current.waiting.count }

    /// Returns once this many timers are waiting.
    public func untilWaiting(_ count: Int) async { await state.wait { $0.waiting.count >= count } }

    /// Returns once this many timers were ever scheduled.
    public func untilScheduled(_ count: Int) async { await state.wait { $0.scheduled >= count } }

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
        let number = state.withLock { state in
            state.scheduled += 1
            state.waiting[state.scheduled] = Waiting(end: state.now + time, work: work)
            return state.scheduled
        }
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
