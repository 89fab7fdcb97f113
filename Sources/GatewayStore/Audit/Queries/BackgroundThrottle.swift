internal import Glibc

/// Computes the pauses between blocks of background work, so that the work does not delay calls.
///
/// The work uses at most a quarter of one processor. It uses a hundredth if a block's elapsed time exceeds 1.5 times
/// its CPU time, which shows that other work needs the processor or the disk. Confined to one thread.
struct BackgroundThrottle {
    private var began = ContinuousClock.now
    private var used = Self.processorTime

    /// Returns the pause after the current block. The next block starts with `begin()`.
    func rest() -> Duration { Self.rest(after: Self.processorTime - used, within: ContinuousClock.now - began) }

    /// Starts the measurement of a block.
    mutating func begin() {
        began = .now
        used = Self.processorTime
    }

    static func rest(after used: Duration, within taken: Duration) -> Duration {
        used * (taken > used * 1.5 ? 99 : 3)
    }

    /// The CPU time of the current thread.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
