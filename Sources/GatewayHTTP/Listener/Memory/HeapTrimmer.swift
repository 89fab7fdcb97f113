internal import CMalloc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A scheduler that returns free heap memory to the system after a peak of clients. The allocator itself keeps such
/// memory because allocated blocks lie between the free ones.
///
/// Any loop may use it. The work runs on a thread pool, once for all requests within `pause`.
final class HeapTrimmer: Sendable {
    /// The delay before a trim, during which more memory can become free.
    private static let pause = TimeAmount.seconds(2)

    private let isScheduled = Atomic(false)
    private let trim: @Sendable () -> Void

    /// Creates a trimmer with nothing scheduled.
    ///
    /// - Parameter trim: Returns the memory to the system; the default is the allocator's own function.
    init(_ trim: @escaping @Sendable () -> Void = { notify_gateway_trim_heap() }) { self.trim = trim }

    /// Schedules a trim after `pause`, if none is scheduled.
    func schedule() {
        guard !isScheduled.exchange(true, ordering: .relaxed) else { return }
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? MultiThreadedEventLoopGroup.singleton.any()
        loop.scheduleTask(in: Self.pause) {
            self.isScheduled.store(false, ordering: .relaxed)
            NIOThreadPool.singleton.submit { _ in self.trim() }
        }
    }
}

/// A detector for a large decrease of a quantity since its last peak.
struct PeakDetector {
    /// The minimum decrease. A decrease must also be at least a quarter of the peak.
    let minimumDecrease: Int
    private var peak = 0

    init(minimumDecrease: Int) { self.minimumDecrease = minimumDecrease }

    /// Records the current level. Returns true after a large decrease, and then starts the next peak at this level.
    mutating func hasFallen(to level: Int) -> Bool {
        peak = max(peak, level)
        guard peak - level >= max(minimumDecrease, peak / 4) else { return false }
        peak = level
        return true
    }
}
