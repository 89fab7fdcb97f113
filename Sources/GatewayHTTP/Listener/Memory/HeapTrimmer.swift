internal import CMalloc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A scheduler that returns free heap memory to the system after a load peak. The allocator itself keeps such memory
/// because allocated blocks lie between the free ones.
///
/// Thread-safe. The trim runs on a thread pool, once for all calls of `schedule()` within `delay`.
final class HeapTrimmer: Sendable {
    /// The delay before a trim, during which more memory can become free.
    private static let delay = TimeAmount.seconds(2)

    private let isScheduled = Atomic(false)
    private let trim: @Sendable () -> Void

    /// Creates a trimmer with nothing scheduled.
    ///
    /// - Parameter trim: Returns the memory to the system; the default is the allocator's own function.
    init(_ trim: @escaping @Sendable () -> Void = { notify_gateway_trim_heap() }) { self.trim = trim }

    /// Schedules a trim after `delay`, if none is scheduled.
    func schedule() {
        guard !isScheduled.exchange(true, ordering: .relaxed) else { return }
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? MultiThreadedEventLoopGroup.singleton.any()
        loop.scheduleTask(in: Self.delay) {
            self.isScheduled.store(false, ordering: .relaxed)
            NIOThreadPool.singleton.submit { _ in self.trim() }
        }
    }
}

/// A detector for a large decrease of a quantity since its last peak.
struct DropDetector {
    /// The minimum decrease. A decrease must also be at least a quarter of the peak.
    let minimumDecrease: Int
    private var peak = 0

    init(minimumDecrease: Int) { self.minimumDecrease = minimumDecrease }

    /// Records the current level. Returns true if the level lies below the peak by a large decrease; the peak then
    /// restarts at this level.
    mutating func record(_ level: Int) -> Bool {
        peak = max(peak, level)
        guard peak - level >= max(minimumDecrease, peak / 4) else { return false }
        peak = level
        return true
    }
}
