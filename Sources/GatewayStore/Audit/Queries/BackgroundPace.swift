internal import Glibc

/// How long work in the background rests between its blocks, so that calls do not notice it.
///
/// It takes a quarter of a processor at the most, and a hundredth where others want processor or disk at the same time: that shows
/// in blocks that take longer than the time that they have had of a processor. Belongs to one thread.
struct BackgroundPace {
    private var began = ContinuousClock.now
    private var used = Self.processorTime

    /// The block that was begun is over: how long to rest before the next, which begins with `begin()`.
    func rest() -> Duration { Self.rest(after: Self.processorTime - used, within: ContinuousClock.now - began) }

    /// A block begins.
    mutating func begin() {
        began = .now
        used = Self.processorTime
    }

    static func rest(after used: Duration, within taken: Duration) -> Duration {
        used * (taken > used * 1.5 ? 99 : 3)
    }

    /// What the thread has had of a processor.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
