internal import Glibc

/// Computes the pauses between blocks of background work, so that the work does not delay calls.
///
/// The work uses at most a quarter of one processor. It uses a tenth if a block's elapsed time exceeds 1.5 times its CPU
/// time, which shows that other work needs the processor or the disk. At less than a microsecond a line, a tenth of a
/// processor indexes more lines than a gateway writes. Confined to one thread.
struct BackgroundThrottle {
    private var began = ContinuousClock.now
    private var used = Self.processorTime

    /// Returns the pause after the current block. The next block starts with `begin()`.
    func pause() -> Duration { Self.pause(after: Self.processorTime - used, within: ContinuousClock.now - began) }

    /// Starts the measurement of a block.
    mutating func begin() {
        began = .now
        used = Self.processorTime
    }

    static func pause(after used: Duration, within taken: Duration) -> Duration {
        used * (taken > used * 1.5 ? 9 : 3)
    }

    /// The CPU time of the current thread.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
